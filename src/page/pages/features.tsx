import { useEffect } from "preact/hooks";
import { search as searchOf } from "../api.ts";
import { byName, day, duration, number } from "../format.ts";
import { now, site } from "../live/live.ts";
import {
  allFeatures,
  countStates,
  daysLeft,
  type FeatureRow,
  inState,
  isFull,
  labelsOf,
  matching,
  STATES,
  type State as StateWord,
  sorted,
} from "../model.ts";
import { SeatBar } from "../parts/bar.tsx";
import { SortHead } from "../parts/head-cell.tsx";
import { Age, Icon, State, Unknown } from "../parts/marks.tsx";
import { Choice, SearchField } from "../parts/search-field.tsx";
import { useSteadyOrder } from "../parts/steady-order.ts";
import { VirtualRows } from "../parts/virtual.tsx";
import { go, linkTo, query, setQuery } from "../router.ts";
import { words } from "../words.ts";
import { dayOf, loadDays } from "./day-stats.ts";

/** The order of an address that says none: the tightest first. */
export const FIRST = "free";

export function Features() {
  const servers = site.value ?? new Map<string, never>();
  const asked = query.value;
  const word = asked.get("state");
  const state = STATES.find((each) => each === word) ?? null;
  const sort = asked.get("sort") ?? FIRST;
  const filter = { search: asked.get("q") ?? "", server: asked.get("server"), label: asked.get("label") };
  // Days left change once a day: the clock's seconds need not order all rows anew.
  const today = now.peek();
  const found = matching(allFeatures(servers), filter);
  const fresh = sorted(inState(found, state, today), sort);
  const { rows, moved, again, events } = useSteadyOrder(fresh, asked.toString());
  const labels = [...new Set([...servers.values()].flatMap(labelsOf))].sort(byName);

  return (
    <>
      <h1 class="vh">{words.features}</h1>
      <SearchField label={words.searchFeatures} hint={words.searchHint} example={words.searchTry} />
      <div class="chips" role="group" aria-label={words.filters}>
        <StateChips rows={found} chosen={state} today={today} />
        <span class="sep" />
        <Choice name="server" any={words.anyServer} values={[...servers.keys()]} word={words.server} />
        {labels.length > 0 && <Choice name="label" any={words.anyLabel} values={labels} word={words.label} />}
        <span class="end">
          {moved > 0 && (
            <button class="btn" type="button" onClick={again}>
              {words.changes(moved)}
            </button>
          )}
          <a class="btn" href={csvOf(filter.server)} download>
            {words.csv}
          </a>
        </span>
      </div>
      <p class="count q" role="status">
        {words.featureCount(rows.length)}
      </p>
      <div {...events}>
        <FeatureTable rows={rows} />
      </div>
      {rows.length === 0 && (
        <div class="empty">
          <p>{words.noMatch}</p>
          <button class="btn" type="button" onClick={() => go(linkTo("features"))}>
            {words.clear}
          </button>
        </div>
      )}
    </>
  );
}

/** Rows as they are ordered; the heads change `sort` in the address. */
export function FeatureTable({ rows }: { readonly rows: readonly FeatureRow[] }) {
  useEffect(() => {
    const end = new AbortController();
    void loadDays(end.signal);
    return () => end.abort();
  }, []);
  return (
    <div class="t ft" role="table" aria-label={words.features} aria-rowcount={rows.length + 1}>
      <Head />
      <VirtualRows rows={rows}>{(row, index) => <Row key={row.id} row={row} index={index} />}</VirtualRows>
    </div>
  );
}

const csvOf = (server: string | null) =>
  `./api/licenses/features${searchOf({ format: "csv", ...(server !== null && { server }) })}`;

/** A filter has its count, so that an empty one is seen before it is pressed. */
function StateChips(props: {
  readonly rows: readonly FeatureRow[];
  readonly chosen: StateWord | null;
  readonly today: number;
}) {
  const counts = countStates(props.rows, props.today);
  const chip = (state: StateWord | null, count: number) => (
    <button
      key={state}
      class={`chip ${state === null || state === "expiring" || state === "partial" ? "opt" : ""}`}
      type="button"
      aria-pressed={props.chosen === state}
      onClick={() => setQuery({ state }, true)}
    >
      {(state === "stale" || state === "partial") && <Icon name={state} />}
      {state === null ? words.all : words.states[state]}{" "}
      <b class={state === "full" && count > 0 ? "n-full" : undefined}>{number(count)}</b>
    </button>
  );
  return (
    <>
      {chip(null, props.rows.length)}
      {STATES.map((state) => chip(state, counts[state]))}
    </>
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
      {head("daemon", columns.daemon, "opt")}
      {head("seats", columns.seats)}
      <span role="columnheader">
        <span class="vh">{columns.note}</span>
      </span>
      {head("used", columns.used, "r")}
      {head("free", columns.free, "r")}
      <span role="columnheader" class="r opt">
        {columns.peak}
      </span>
      <span role="columnheader" class="r opt">
        {columns.denied}
      </span>
      {head("expires", columns.expires, "opt pad")}
      <span role="columnheader" class="opt">
        {columns.age}
      </span>
    </div>
  );
}

function Row({ row, index }: { readonly row: FeatureRow; readonly index: number }) {
  const { server, feature } = row;
  const { daemon, name, used, total, unlimited } = feature;
  const past = dayOf(row);
  return (
    <div class={`tr ${feature.state === "stale" ? "stale-row" : ""}`} role="row" aria-rowindex={index}>
      <span role="cell" class="a-n">
        <a class="name" href={linkTo("feature", { server: server.id, daemon, name })} title={name}>
          {name}
        </a>
      </span>
      <span role="cell" class="a-s q el">
        {server.id}
      </span>
      <span role="cell" class="q el opt">
        {daemon}
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
      <span role="cell" class="r opt">
        <Peak past={past} />
      </span>
      <span role="cell" class={`r opt ${(past?.denials ?? 0) > 0 ? "n-crit" : "q"}`}>
        {past === undefined || past.denials === null ? <Unknown /> : number(past.denials)}
      </span>
      <span role="cell" class="opt pad">
        <Expiry row={row} />
      </span>
      <span role="cell" class="opt">
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
  if (server.status === "degraded" && up < server.members.length)
    return <State is="partial">{words.membersUp(up, server.members.length)}</State>;
  return <span class="q">{age}</span>;
}
