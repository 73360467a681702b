import { groupLimit } from "../../domain/polls/seat-groups.ts";
import { addressOf, mayNot, me } from "../api.ts";
import { byName, day, duration, number, plural } from "../format.ts";
import { now, site } from "../live/live.ts";
import {
  daysLeft,
  type FeatureRow,
  featuresOf,
  type HolderRow,
  holdersOf,
  isFull,
  peopleOf,
  sumOf,
} from "../model.ts";
import { Copy, CopyLink, useAnswer } from "../parts/answer.tsx";
import { SeatBar } from "../parts/bar.tsx";
import { HolderTable, Strip } from "../parts/holders.tsx";
import { Person, State } from "../parts/marks.tsx";
import { PrintFoot } from "../parts/print-foot.tsx";
import { Crumbs, Head, NotFound } from "../parts/section.tsx";
import { linkTo, query } from "../router.ts";
import { WatchButton } from "../shell/watch.tsx";
import { amount, inDays, inUse, peopleSeats, reservedWords, unlessSeats, waitingWords } from "../words.ts";
import { FeaturePast, FeatureTabs, Jumps, rangeOfPage } from "./feature-past.tsx";

export function Feature() {
  const [id, daemon, name] = ["server", "daemon", "name"].map((word) => query.value.get(word) ?? "");
  const server = site.value?.get(id ?? "");
  const row =
    server && featuresOf(server).find(({ feature }) => feature.daemon === daemon && feature.name === name);
  if (row === undefined)
    return (
      <NotFound name={name ?? ""} message="Unknown feature." list={["All features", linkTo("features")]} />
    );
  const rows = holdersOf(row.server).filter(({ feature }) => feature === row.key);
  const kind = (word: HolderRow["kind"]) =>
    rows.filter((each) => each.kind === word).sort((a, b) => (a.since ?? 0) - (b.since ?? 0));
  const [holders, waiting] = [kind("checkout"), kind("queued")];
  return (
    <>
      <Crumbs
        path={[
          <a href={linkTo("features", { server: row.server.id })}>{row.server.id}</a>,
          ...(row.feature.daemon === "" ? [] : [row.feature.daemon]),
        ]}
        name={row.feature.name}
      >
        <WatchButton row={row} />
        {me.value !== null && me.value.public !== "off" && (
          <Copy text={() => badgeOf(row)} label="Copy badge link" />
        )}
        <CopyLink />
      </Crumbs>
      <section class="hero" aria-label="Seats in use">
        <Free row={row} />
        <div>
          <Facts row={row} waiting={waiting} />
          <Waits row={row} />
        </div>
        {mayNot("holders") ? (
          <SeatBar feature={row.feature} />
        ) : (
          <Strip row={row} holders={holders} waiting={waiting} />
        )}
      </section>
      <Jumps />
      <div class="cols c2">
        <section class="sec" id="who">
          {mayNot("holders") ? (
            <>
              <Head title="Who has it" />
              <p class="q">People are not shown here.</p>
            </>
          ) : (
            <Who
              row={row}
              holders={holders}
              waiting={waiting}
              reserved={kind("reservation")}
              assigned={kind("assigned")}
            />
          )}
        </section>
        <div>
          <FeaturePast row={row} />
        </div>
      </div>
      <FeatureTabs row={row} />
      <PrintFoot range={rangeOfPage()} />
    </>
  );
}

function Who(props: {
  readonly row: FeatureRow;
  readonly holders: readonly HolderRow[];
  readonly waiting: readonly HolderRow[];
  readonly reserved: readonly HolderRow[];
  readonly assigned: readonly HolderRow[];
}) {
  const { row, holders, waiting, reserved, assigned } = props;
  const table = (rows: readonly HolderRow[], label: string, lasts: string, none: string) =>
    rows.length > 0 ? (
      <HolderTable rows={rows} label={label} lasts={lasts} />
    ) : (
      <p class="q">{row.feature.used === null ? "not known" : none}</p>
    );
  return (
    <>
      <Head title="Who has it" note={countOf(holders, row)}>
        <a class="more" href={linkTo("people", { feature: row.id })}>
          Open in People
        </a>
      </Head>
      {table(holders, "Who has it", "Held", "No checkouts.")}
      <Head title="Waiting" class="mt" note={waiting.length > 0 ? countOf(waiting, row) : undefined} />
      {table(waiting, "Waiting", "Waits", "No waiting requests.")}
      {reserved.length > 0 && <Reservations rows={reserved} />}
      {assigned.length > 0 && <Assigned rows={assigned} />}
    </>
  );
}

const badgeOf = ({ server, feature: { daemon, name } }: FeatureRow) =>
  new URL(`.${addressOf("/badge.svg", { server: server.id, daemon, feature: name })}`, document.baseURI).href;

const countOf = (rows: readonly HolderRow[], { feature: { unit } }: FeatureRow) =>
  peopleSeats(peopleOf(rows), sumOf(rows, unit), unit);

function Free({ row }: Readonly<{ row: FeatureRow }>) {
  const { free, feature } = row;
  const colour = (daysLeft(row, now.peek()) ?? 0) < 0 ? "n-crit" : isFull(row) ? "n-full" : "";
  return (
    <p class={`free0 ${colour} ${feature.state === "stale" ? "stale-row" : ""}`}>
      {feature.unlimited ? "no limit" : free === null ? "not known" : number(free)}
      {free !== null && <small>{unlessSeats(feature.unit).trim()} free</small>}
    </p>
  );
}

function Facts({ row, waiting }: Readonly<{ row: FeatureRow; waiting: readonly HolderRow[] }>) {
  const { feature, server } = row;
  const used = feature.used === null ? null : number(feature.used);
  const [strong, rest] = feature.unlimited
    ? inUse(used ?? "", null, feature.unit)
    : inUse(used ?? "", number(feature.total ?? 0), feature.unit);
  const { seatGroup } = feature;
  const sharing = featuresOf(server).filter((each) => each.feature.seatGroup === seatGroup);
  const left = daysLeft(row, now.value);
  const readAt = feature.collectedAt ?? server.collectedAt;
  return (
    <p class="facts">
      {used !== null && (
        <span>
          <b>{strong}</b>
          {rest}
        </span>
      )}
      {waiting.length > 0 && (
        <span class="n-full">
          <b>{number(waiting.length)} waiting</b> for {amount(sumOf(waiting, feature.unit), feature.unit)}
        </span>
      )}
      {mayNot("holders") && (feature.queued ?? 0) > 0 && (
        <b class="n-full">{waitingWords(feature.queued ?? 0)}</b>
      )}
      {(feature.reserved ?? 0) > 0 && <span>{reservedWords(feature.reserved ?? 0)}</span>}
      {seatGroup !== null && sharing.length > 1 && (
        <span>
          shares its seats with {plural(sharing.length - 1, "other")}
          {groupLimit(feature) > 0 && ` that use ${number(groupLimit(feature))}`}
        </span>
      )}
      {feature.permanent && <span>permanent</span>}
      {feature.expiresOn !== null && left !== null && (
        <span class={left < 0 ? "n-crit" : undefined}>
          {left < 0 ? "expired" : "expires"} <b>{day(feature.expiresOn, now.value)}</b>, {inDays(left)}
        </span>
      )}
      {left !== null && left < 0 && (row.free ?? 0) > 0 && (
        <span>The server may refuse seats that it counts as free.</span>
      )}
      {readAt !== null &&
        (feature.state === "stale" ? (
          <State is="stale">{`read ${duration(now.value - Date.parse(readAt))} ago`}</State>
        ) : (
          <span class="q">{`polled ${duration(now.value - Date.parse(readAt))} ago`}</span>
        ))}
      {feature.state === "partial" && <State is="partial">partial</State>}
      {feature.error !== null && <span class="n-crit">{feature.error}</span>}
      {feature.state !== "ok" && server.error !== null && <span class="q">{server.error.message}</span>}
    </p>
  );
}

function Waits({ row }: Readonly<{ row: FeatureRow }>) {
  const { daemon, name } = row.feature;
  const asked = { server: row.server.id, daemon, feature: name, start: "-30d" };
  const found = useAnswer("/api/licenses/waits", asked).answer?.waits[0];
  if (found === undefined) return null;
  const long = (seconds: number | null) => (seconds === null ? null : duration(seconds * 1000));
  const [half, most] = [long(found.p50Seconds), long(found.p80Seconds)];
  const covered = Math.floor(100 * found.coverage);
  return (
    <p class="waits">
      In 30 days{covered < 99 && `, ${covered} % of which are known,`} it was full{" "}
      {found.count === 1 ? "once" : `${number(found.count)} times`}.
      {half !== null &&
        most !== null &&
        ` Half of the waits were over within ${half}, 8 of 10 within ${most}.`}
    </p>
  );
}

function Assigned({ rows }: Readonly<{ rows: readonly HolderRow[] }>) {
  return (
    <>
      <Head title="Assigned" class="mt" note={plural(rows.length, "person", "people")} />
      <ul class="rows">
        {[...rows]
          .sort((a, b) => byName(a.order, b.order))
          .map(({ id, user, host }) => (
            <li key={id} class="pair">
              <Person user={user} />
              <span class="r q">{host}</span>
            </li>
          ))}
      </ul>
    </>
  );
}

function Reservations({ rows }: Readonly<{ rows: readonly HolderRow[] }>) {
  const named = [...rows].sort((a, b) => byName(a.reservedFor?.name ?? "", b.reservedFor?.name ?? ""));
  return (
    <>
      <Head title="Reserved" class="mt" note={amount(sumOf(rows, rows[0]?.unit), rows[0]?.unit)} />
      <ul class="rows">
        {named.map(({ id, reservedFor, count }) => (
          <li key={id} class="pair">
            <span class="el">
              {reservedFor?.name ?? "not known"} <span class="q">{reservedFor?.type.toLowerCase()}</span>
            </span>
            <span class="r">{number(count)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
