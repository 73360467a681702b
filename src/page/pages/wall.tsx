import { computed, effect, signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import { isOld, kindOf, MARK_OF, readAt } from "../daily/condition.ts";
import { expiriesOf, figuresOf } from "../daily/figures.ts";
import { placeOf } from "../daily/sentence.ts";
import type { Day } from "../daily/series.ts";
import { idOf, sayOf, screensOf, seatsOf, type Tile, tightestOf, tilesOf } from "../daily/wall.ts";
import { daily } from "../daily/words.ts";
import { day, duration, moment, number } from "../format.ts";
import { firing } from "../live/alerts.ts";
import { lostSince, now, site } from "../live/live.ts";
import { isOutdated } from "../live/version.ts";
import { type FeatureRow, isFull, type Site } from "../model.ts";
import { Age, Icon, State, Unknown } from "../parts/marks.tsx";
import { Spark } from "../parts/spark.tsx";
import { hrefOf, query } from "../router.ts";
import { WIDTH } from "../seats.ts";
import { Live } from "../shell/header.tsx";
import { words } from "../words.ts";
import { readDay, useExpiries } from "./overview-past.ts";

const QUARTER_MS = 900_000;
const SCREEN_MS = 15_000;
/** From then on the wall itself says that it is not live. */
const LOST_MS = 120_000;
/** Narrower windows show all tiles below each other. */
const LEAST_WIDTH = 700;
const THREE_COLUMNS_WIDTH = 1_200;

const minute = computed(() => Math.floor(now.value / 60_000) * 60_000);
const isLost = computed(() => lostSince.value !== null && now.value - lostSince.value >= LOST_MS);
const width = signal(innerWidth);
addEventListener("resize", () => {
  width.value = innerWidth;
});

/** Big tiles of the servers, to be read from afar and left alone for weeks. */
export function Wall() {
  const { tiles, rows } = tilesOf(site.value ?? new Map(), query.value);
  const isNarrow = width.value < LEAST_WIDTH;
  const columns = Math.min(
    isNarrow ? 1 : width.value < THREE_COLUMNS_WIDTH ? 2 : 3,
    Math.max(1, tiles.length),
  );
  const screens = screensOf(tiles, isNarrow ? Number.POSITIVE_INFINITY : columns * rows);
  const held = useSignal<number | null>(null);
  const screen = (held.value ?? Math.floor(now.value / SCREEN_MS)) % screens.length;
  const shown = new Map(tiles.flatMap((tile) => (typeof tile === "string" ? [] : [[tile.id, tile]])));
  const past = useDay(shown);
  // Nobody is there to press a button.
  useEffect(() => effect(() => void (isOutdated.value && location.reload())), []);
  const grid = {
    gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
    gridTemplateRows: isNarrow
      ? ""
      : `repeat(${Math.min(rows, Math.ceil(tiles.length / columns))}, minmax(0, 1fr))`,
  };
  return (
    <div class={`wall ${isLost.value ? "lost" : ""}`}>
      <h1 class="vh">{daily.group}</h1>
      <div class="tiles" style={grid}>
        {screens[screen]?.map((tile) => (
          <ServerTile key={idOf(tile)} tile={tile} past={past} />
        ))}
        {tiles.length === 0 && <p class="empty">{words.noMatch}</p>}
      </div>
      <footer>
        <time>{moment(minute.value, minute.value)}</time>
        {isLost.value ? (
          <span class="live" role="status">
            <Icon name="warn" />
            {daily.notLiveFor(duration(now.value - (lostSince.value ?? 0)))}
          </span>
        ) : (
          <Live />
        )}
        {screens.length > 1 && (
          <button
            class="btn"
            type="button"
            aria-pressed={held.value !== null}
            onClick={() => {
              held.value = held.value === null ? screen : null;
            }}
          >
            {daily.screen(screen + 1, screens.length, held.value !== null)}
          </button>
        )}
        <Sums servers={shown} isPart={screens.length > 1} />
      </footer>
    </div>
  );
}

/** The last 24 hours of the servers shown, read every quarter of an hour; what was read stays while nothing answers. */
function useDay(shown: ReadonlyMap<string, KeptServer>): Day | null {
  const past = useSignal<Day | null>(null);
  const quarter = Math.floor(minute.value / QUARTER_MS);
  const ids = [...shown.keys()];
  useEffect(() => {
    const end = new AbortController();
    const asked = ids.length === site.peek()?.size ? {} : { server: ids };
    if (ids.length > 0)
      void readDay(shown, end.signal, asked).then((read) => {
        if (!end.signal.aborted && typeof read === "object" && read !== null) past.value = read;
      });
    return () => end.abort();
  }, [quarter, ids.join("\n")]);
  return past.value;
}

function ServerTile({ tile, past }: { readonly tile: Tile; readonly past: Day | null }) {
  const tight = useMemo(() => (typeof tile === "string" ? [] : tightestOf(tile)), [tile]);
  const parts = useMemo(() => (typeof tile === "string" ? [] : seatsOf(tile)), [tile]);
  const isUnknown = typeof tile === "string";
  const kind = isUnknown ? "never" : kindOf(tile);
  const isStale = isLost.value || (!isUnknown && isOld(tile));
  // Nobody knows whether what was fine is so when nothing is heard of it.
  const mark = isLost.value && kind === "fine" ? "stale" : MARK_OF[kind];
  const at = isUnknown ? null : readAt(tile);
  return (
    <section class={`tile ${isStale ? "stale-row" : ""}`} aria-label={idOf(tile)}>
      <h2>
        <span class={`st st-${mark}`}>
          <Icon name={mark} size={44} />
          <span class="vh">{mark === "stale" ? daily.kinds.stale : daily.kinds[kind]}</span>
        </span>
        {isUnknown ? (
          <span class="el">{tile}</span>
        ) : (
          <a class="el" href={hrefOf(placeOf(tile))}>
            {tile.id}
          </a>
        )}
        <span class="age">{at !== null && <Age at={at} />}</span>
      </h2>
      {isUnknown ? (
        <p class="say">{daily.noSuchServer}</p>
      ) : (
        <Seats server={tile} parts={parts} isStale={isStale} />
      )}
      {!isUnknown && <Curve server={tile} past={past} isStale={isStale} />}
      <ul>
        {tight.map((row) => (
          <Tight key={row.id} row={row} />
        ))}
      </ul>
    </section>
  );
}

interface TileProps {
  readonly server: KeptServer;
  readonly isStale: boolean;
}

/** What is so about the server, and how many of its seats are in use. */
function Seats({ server, parts, isStale }: TileProps & { readonly parts: ReturnType<typeof seatsOf> }) {
  const { mark, text } = sayOf(server, [...(firing.value?.values() ?? [])], minute.value);
  const { used, total } = server.counts;
  const [all, of] = [used === null ? words.notKnown : number(used), total === null ? null : number(total)];
  const percent = (pixels: number) => `${(100 * pixels) / WIDTH}%`;
  return (
    <>
      <p class="say">
        {mark === null ? (
          <span>{isLost.value ? words.notKnown : text}</span>
        ) : (
          <State is={mark}>{text}</State>
        )}
      </p>
      <p class="tot">
        {used === null ? <Unknown /> : all} {of !== null && <small>{daily.ofSeats(of)}</small>}
      </p>
      <svg class="seats" role="img" aria-label={words.inUse(all, of ?? words.notKnown).join("")}>
        {parts.map(({ kind, x, width: wide }) => (
          <rect
            key={x + kind}
            class={isStale ? (kind === "e" || kind === "es" ? "e es" : "s") : kind}
            x={percent(x)}
            width={percent(wide)}
            height="100%"
            rx="1"
          />
        ))}
      </svg>
    </>
  );
}

function Curve({ server, past, isStale }: TileProps & { readonly past: Day | null }) {
  const samples = past?.servers.get(server.id);
  if (past === null || samples === undefined || samples.every(({ used }) => used === null))
    return <span class="spark" />;
  const { used, total } = server.counts;
  const says = [used, total].map((value) => (value === null ? words.notKnown : number(value))) as [
    string,
    string,
  ];
  return (
    <Spark
      samples={samples}
      until={past.until}
      total={total}
      used={used}
      isStale={isStale}
      label={daily.spark(...says)}
      width={560}
      height={84}
    />
  );
}

function Tight({ row }: { readonly row: FeatureRow }) {
  const { feature, free } = row;
  return (
    <li>
      <span class="el">{feature.name}</span>
      <span class="n">
        {(feature.queued ?? 0) > 0 && <span class="n-full">{words.waiting(feature.queued ?? 0)} </span>}
        {feature.used === null ? <Unknown /> : number(feature.used)}/{number(feature.total ?? 0)}
      </span>
      <b class={`r ${isFull(row) ? "n-full" : ""}`}>
        {number(free ?? 0)} {words.free}
      </b>
    </li>
  );
}

/** All servers of the wall together; how many are not fine where not all are in sight. */
function Sums({ servers, isPart }: { readonly servers: Site; readonly isPart: boolean }) {
  const { used, total, waiting } = useMemo(() => figuresOf(servers), [site.value, query.value]);
  const { answer } = useExpiries(servers, minute.value);
  const next = answer === null ? undefined : expiriesOf(answer.expirations).find(({ days }) => days >= 0);
  const troubled = [...servers.values()].filter((server) => !["fine", "off"].includes(kindOf(server))).length;
  return (
    <p class="sums">
      {isPart && troubled > 0 && <b class="n-full">{daily.notFine(troubled, servers.size)} </b>}
      {used !== null && total !== null && daily.sums(number(used), number(total), waiting)}{" "}
      {next !== undefined &&
        daily.nextExpiry(day(next.on, minute.value), daily.several(next.features, next.seats))}
    </p>
  );
}
