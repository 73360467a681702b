import { computed, effect, signal, useComputed } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import { isOld, isTroubled } from "../daily/condition.ts";
import { expiriesOf, figuresOf } from "../daily/figures.ts";
import { Tile } from "../daily/tile.tsx";
import { sayOf, screensOf, seatsOf, tightestOf, wallOf } from "../daily/wall.ts";
import { day, moment, number, plural, shortIn } from "../format.ts";
import { firing } from "../live/alerts.ts";
import { isOutdated, lostSince, now, site } from "../live/live.ts";
import { SILENT_MS } from "../live/stream.ts";
import { isFull } from "../model.ts";
import { Icon, State, UsedOf } from "../parts/marks.tsx";
import { query } from "../router.ts";
import { partsOf, WIDTH } from "../seats.ts";
import { Live } from "../shell/header.tsx";
import { amount, seatsInWords, unlessSeats, waitingWords } from "../words.ts";
import { useDay, useExpiries } from "./overview-past.ts";

const SCREEN_MS = 15_000;
/** Duration of an interruption from which it is shown in color. A restart of the daemon takes less. */
const LOST_MS = SILENT_MS;
const LEAST_WIDTH = 700;
const THREE_COLUMNS_WIDTH = 1_200;

/** The current minute. A wall runs for weeks, and its parts are drawn again only when their values change. */
const minute = computed(() => Math.floor(now.value / 60_000) * 60_000);
const isLost = computed(() => lostSince.value !== null && now.value - lostSince.value >= LOST_MS);
const width = signal(innerWidth);
addEventListener("resize", () => {
  width.value = innerWidth;
});

export function Wall() {
  const { servers, unknown, rows } = wallOf(site.value ?? new Map(), query.value);
  const isNarrow = width.value < LEAST_WIDTH;
  const most = isNarrow ? 1 : width.value < THREE_COLUMNS_WIDTH ? 2 : 3;
  const columns = Math.min(most, Math.max(1, servers.length));
  const screens = screensOf(servers, isNarrow ? Number.POSITIVE_INFINITY : columns * rows);
  const [held, hold] = useState<number | null>(null);
  // Count from the opening, so that the wall begins with the first screen, which has the worst servers.
  const [openedAt] = useState(now.peek());
  const turn = useComputed(() => Math.max(0, Math.floor((now.value - openedAt) / SCREEN_MS)));
  const screen = (held ?? turn.value) % screens.length;
  const past = useDay(new Map(servers.map((server) => [server.id, server])));
  // Reload without asking, because no one is there to press a button.
  useEffect(() => effect(() => void (isOutdated.value && location.reload())), []);
  const lines = Math.min(rows, Math.ceil(servers.length / columns));
  return (
    <div class={`wall ${isLost.value ? "lost" : ""}`}>
      <h1 class="vh">Servers</h1>
      <ul
        class="tiles"
        style={{
          gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
          gridTemplateRows: isNarrow ? "" : `repeat(${lines}, minmax(0, 1fr))`,
        }}
      >
        {screens[screen]?.map((server) => (
          <li key={server.id}>
            <Tile
              server={server}
              day={past.day}
              says={<Says server={server} />}
              isLost={isLost.value}
              bar={<Bar server={server} />}
            >
              <Tightest server={server} />
            </Tile>
          </li>
        ))}
        {servers.length === 0 && <li class="empty">Nothing matches.</li>}
      </ul>
      <footer>
        <Clock />
        {isLost.value ? <NotLive /> : <Live />}
        {screens.length > 1 && (
          <button
            class="btn"
            type="button"
            aria-pressed={held !== null}
            onClick={() => hold(held === null ? screen : null)}
          >
            {`${screen + 1} of ${screens.length}${held !== null ? ", held" : ""}`}
          </button>
        )}
        {unknown.length > 0 && <State is="crit">{`Not in the config: ${unknown.join(", ")}`}</State>}
        <Sums servers={servers} isPart={screens.length > 1} />
      </footer>
    </div>
  );
}

const Clock = () => <time>{moment(minute.value, minute.value)}</time>;

const NotLive = () => (
  <span class="live" role="status">
    <Icon name="warn" />
    Disconnected since {moment(lostSince.value ?? 0, now.value)}
  </span>
);

type Props = Readonly<{ server: KeptServer }>;

function Says({ server }: Props) {
  const { mark, tone, text } = sayOf(server, [...(firing.value?.values() ?? [])], minute.value);
  if (mark !== null)
    return (
      <State is={mark} {...(tone && { tone })}>
        {text}
      </State>
    );
  return <>{isLost.value ? "not known" : text}</>;
}

/** A bar as wide as the tile. Its patterns are not stretched. */
function Bar({ server }: Props) {
  const seats = seatsOf(server, isLost.value || isOld(server));
  const percent = (pixels: number) => `${(100 * pixels) / WIDTH}%`;
  return (
    <svg class="seats" role="img" aria-label={seatsInWords(seats)}>
      {partsOf(seats).map(({ kind, x, width: wide }) => (
        <rect
          key={x + kind}
          class={kind === "es" ? "e es" : kind}
          x={percent(x)}
          width={percent(wide)}
          height="100%"
          rx="1"
        />
      ))}
    </svg>
  );
}

function Tightest({ server }: Props) {
  const tightest = tightestOf(server);
  return (
    <ul class="tightest">
      {tightest.map((row) => {
        const { id, feature, free } = row;
        const waiting = feature.queued ?? 0;
        const isTwice = tightest.some((other) => other !== row && other.feature.name === feature.name);
        return (
          <li key={id}>
            <span class="el">
              {feature.name}
              <span class="q">{unlessSeats(feature.unit)}</span>
              {isTwice && <span class="q"> {feature.daemon}</span>}
            </span>
            <span>
              {waiting > 0 && <span class="n-full">{waitingWords(waiting)} </span>}
              <UsedOf {...feature} />
            </span>
            <b class={`r ${isFull(row) ? "n-full" : ""}`}>{shortIn(feature.unit)(free ?? 0)} free</b>
          </li>
        );
      })}
    </ul>
  );
}

function Sums({ servers, isPart }: Readonly<{ servers: readonly KeptServer[]; isPart: boolean }>) {
  const shown = new Map(servers.map((server) => [server.id, server]));
  const { used, total, waiting } = figuresOf(shown);
  const { answer } = useExpiries(shown);
  const next = answer === null ? undefined : expiriesOf(answer.expirations).find(({ days }) => days >= 0);
  const troubled = servers.filter(isTroubled).length;
  return (
    <p class="sums">
      {isPart && troubled > 0 && (
        <b class="n-warn">{`${number(troubled)} of ${plural(servers.length, "server")} not fine.`} </b>
      )}
      {used !== null &&
        total !== null &&
        `${number(used)} of ${number(total)} seats in use${waiting ? `, ${number(waiting)} waiting` : ""}.`}{" "}
      {next !== undefined &&
        `Next expiry ${day(next.on, minute.value)}: ${plural(next.features, "feature")}, ${amount(next.seats)}`}
    </p>
  );
}
