import { day, duration, number } from "../format.ts";
import { now } from "../live/live.ts";
import { daysLeft, type FeatureRow, isFull } from "../model.ts";
import { SeatBar } from "../parts/bar.tsx";
import { columnProps, isHidden } from "../parts/columns.tsx";
import { SortHead } from "../parts/head-cell.tsx";
import { Age, State, Unknown } from "../parts/marks.tsx";
import { VirtualRows } from "../parts/virtual.tsx";
import { linkTo } from "../router.ts";
import { words } from "../words.ts";
import { dayOf, loadDays } from "./day-stats.ts";

/** The order of an address that says none: the tightest first. */
export const FIRST = "free";
/** Narrower windows have no columns of the last day. */
const WIDE = matchMedia("(min-width: 1161px)");

/** Rows as they are ordered; the heads change `sort` in the address. */
export function FeatureTable({ rows }: { readonly rows: readonly FeatureRow[] }) {
  const showsDays = WIDE.matches && !(isHidden("peak") && isHidden("denied"));
  return (
    <div
      class="t ft"
      role="table"
      aria-label={words.features}
      aria-rowcount={rows.length + 1}
      {...columnProps()}
    >
      <Head />
      <VirtualRows rows={rows} {...(showsDays && { seen: loadDays })}>
        {(row, index) => <Row row={row} index={index} />}
      </VirtualRows>
    </div>
  );
}

function Head() {
  const { columns } = words;
  const head = (order: string, word: string, more = "") => (
    <SortHead order={order} first={FIRST} class={more}>
      {word}
    </SortHead>
  );
  return (
    <div class="tr th" role="row" aria-rowindex={1}>
      {head("name", columns.name)}
      {head("server", columns.server)}
      {head("daemon", columns.daemon, "opt c-daemon")}
      {head("seats", columns.seats)}
      <span role="columnheader">
        <span class="vh">{columns.note}</span>
      </span>
      {head("used", columns.used, "r")}
      {head("free", columns.free, "r")}
      <span role="columnheader" class="r opt c-peak">
        {columns.peak}
      </span>
      <span role="columnheader" class="r opt c-denied">
        {columns.denied}
      </span>
      {head("expires", columns.expires, "opt pad c-expires")}
      <span role="columnheader" class="opt c-age">
        {columns.age}
      </span>
    </div>
  );
}

function Row({ row, index }: { readonly row: FeatureRow; readonly index: number }) {
  const { server, feature } = row;
  const { daemon, name, used, total, unlimited } = feature;
  const past = row.of === undefined ? dayOf(row) : undefined;
  const href =
    row.of === undefined
      ? linkTo("feature", { server: server.id, daemon, name })
      : linkTo("features", { q: name, sort: "name" });
  return (
    <div class={`tr ${feature.state === "stale" ? "stale-row" : ""}`} role="row" aria-rowindex={index}>
      <span role="cell" class="a-n">
        <a class="name" href={href} title={name}>
          {name}
        </a>
      </span>
      <span role="cell" class="a-s q el">
        {row.of === undefined ? server.id : words.places(row.of)}
      </span>
      <span role="cell" class="q el opt c-daemon">
        {row.of === undefined && daemon}
      </span>
      <span role="cell" class="a-b">
        <SeatBar feature={feature} />
      </span>
      <span role="cell" class="a-w">
        <Note row={row} />
      </span>
      <span role="cell" class="r a-u">
        {used === null ? <Unknown /> : number(used)}
        {used !== null && !unlimited && total !== null && <span class="q">/{number(total)}</span>}
      </span>
      <Free row={row} />
      <span role="cell" class="r opt c-peak">
        <Peak past={past} />
      </span>
      <span role="cell" class={`r opt c-denied ${(past?.denials ?? 0) > 0 ? "n-crit" : "q"}`}>
        {past === undefined || past.denials === null ? <Unknown /> : number(past.denials)}
      </span>
      <span role="cell" class="opt pad c-expires">
        <Expiry row={row} />
      </span>
      <span role="cell" class="opt c-age">
        <Freshness row={row} />
      </span>
    </div>
  );
}

/** Of less than this share of a day, a peak is only what was seen. */
const COVERED = 0.9;

function Peak({ past }: { readonly past: ReturnType<typeof dayOf> }) {
  if (past === undefined || past.peakUsed === null) return <Unknown />;
  return <>{past.coverage < COVERED ? words.atLeast(past.peakUsed) : number(past.peakUsed)}</>;
}

function Free({ row }: { readonly row: FeatureRow }) {
  const { feature, free } = row;
  if (feature.unlimited)
    return (
      <span role="cell" class="r a-f free nofree">
        <span class="q">{words.noLimit}</span>
      </span>
    );
  const isExpired = (daysLeft(row, now.peek()) ?? 0) < 0;
  const colour = isExpired ? "n-crit" : isFull(row) ? "n-full" : "";
  return (
    <span role="cell" class={`r a-f free ${free === null ? "nofree" : colour}`}>
      {free === null ? <Unknown /> : number(free)}
    </span>
  );
}

/** What most needs to be said beside the bar. */
export function Note({ row }: { readonly row: FeatureRow }) {
  const { feature, server } = row;
  const over = -(feature.available ?? 0);
  if ((feature.queued ?? 0) > 0) return <span class="n-full">{words.waiting(feature.queued ?? 0)}</span>;
  if (feature.state === "failed") return <span class="n-crit">{words.failedState}</span>;
  if ((daysLeft(row, now.peek()) ?? 0) < 0) return <span class="n-crit">{words.expired}</span>;
  const readAt = feature.collectedAt ?? server.collectedAt;
  if (feature.state === "stale" && readAt !== null)
    return <>{words.old(duration(now.value - Date.parse(readAt)))}</>;
  if (over > 0) return <span class="n-full">{words.over(over)}</span>;
  if ((feature.reserved ?? 0) > 0) return <span class="q">{words.reserved(feature.reserved ?? 0)}</span>;
  return feature.shared ? <span class="q">{words.shared}</span> : null;
}

const SOON_DAYS = 30;

function Expiry({ row }: { readonly row: FeatureRow }) {
  const { expiresOn, permanent } = row.feature;
  if (permanent) return <span class="q">{words.permanent}</span>;
  if (expiresOn === null) return <Unknown />;
  const left = daysLeft(row, now.peek());
  const text = day(expiresOn, now.peek());
  if (left === null || left > SOON_DAYS) return <span class="q">{text}</span>;
  return <State is={left < 0 ? "crit" : "warn"}>{text}</State>;
}

/** How old the numbers are, and what is wrong with them. */
function Freshness({ row }: { readonly row: FeatureRow }) {
  const { feature, server } = row;
  const readAt = feature.collectedAt ?? server.collectedAt;
  const age = readAt === null ? words.notKnown : <Age at={Date.parse(readAt)} />;
  if (feature.state === "failed") return <State is="crit">{words.failedState}</State>;
  if (feature.state === "stale") return <State is="stale">{age}</State>;
  if (feature.state === "partial") return <State is="partial">{words.partialState}</State>;
  const up = server.members.filter(({ status }) => status === "up").length;
  if (row.of === undefined && server.status === "degraded" && up < server.members.length)
    return <State is="partial">{words.membersUp(up, server.members.length)}</State>;
  return <span class="q">{age}</span>;
}
