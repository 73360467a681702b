import { capital, number, plural } from "../format.ts";
import { groupedByName } from "../groups.ts";
import { now, site } from "../live/live.ts";
import {
  allFeatures,
  countStates,
  inState,
  type Site,
  STATES,
  type State as StateWord,
  sorted,
} from "../model.ts";
import { ALL, Csv } from "../parts/figure.tsx";
import { NoMatch, SortAgain, useSteadyOrder } from "../parts/list-table.tsx";
import { Icon, State } from "../parts/marks.tsx";
import { LabelChoice, SearchField, ServerChoice } from "../parts/search-field.tsx";
import { query, setQuery } from "../router.ts";
import { matching } from "../search.ts";
import { ColumnChoice, FeatureTable, FIRST, useInOrder } from "./feature-table.tsx";

export function Features() {
  const servers = site.value ?? new Map<string, never>();
  const asked = query.value;
  const state = STATES.find((each) => each === asked.get("state")) ?? null;
  const sort = asked.get("sort") ?? FIRST;
  const filter = { search: asked.get("q") ?? "", server: asked.get("server"), label: asked.get("label") };
  // Read the time without subscribing: days left change once a day, so do not sort all rows every second.
  const today = now.peek();
  // Sort before the search, so that typing does not sort.
  const all = useInOrder(() => allFeatures(servers), sort, servers);
  const found = matching(all, filter);
  const inGroups = asked.get("group") === "name";
  const single = inState(found, state, today);
  const fresh = inGroups ? sorted(groupedByName(single), sort) : single;
  const { rows, moved, again, events } = useSteadyOrder(fresh, asked.toString());

  return (
    <>
      <h1 class="vh">Features</h1>
      <SearchField
        label="Search features"
        hint="Feature, person, host or server"
        example="try  server:eda  or  free:0"
      />
      <div class="chips" role="group" aria-label="Filters">
        <StateChips all={found.length} counts={countStates(found, today)} chosen={state} />
        <span class="sep" />
        <ServerChoice />
        <LabelChoice />
        <button
          class="chip wide"
          type="button"
          aria-pressed={inGroups}
          onClick={() => setQuery({ group: inGroups ? null : "name" }, true)}
        >
          One row per name
        </button>
        <span class="end">
          <SortAgain moved={moved} again={again} />
          <ColumnChoice />
          <Csv
            path="/api/licenses/features"
            query={{ ...ALL, ...(filter.server !== null && { server: filter.server }) }}
          />
        </span>
      </div>
      <p class="count vh q" role="status">
        {plural(rows.length, "feature")}
        {rows.some(({ feature }) => feature.state === "stale") &&
          `, ${number(countStates(rows, today).stale)} of them stale`}
      </p>
      <div {...events}>
        <FeatureTable rows={rows} />
      </div>
      {rows.length === 0 && all.length > 0 && <NoMatch />}
      <Unread site={servers} />
    </>
  );
}

/** Filters with their counts, so that an empty filter is visible before it is used. */
function StateChips(props: {
  readonly all: number;
  readonly counts: Readonly<Record<StateWord, number>>;
  readonly chosen: StateWord | null;
}) {
  const chip = (state: StateWord | null, count: number) => (
    <button
      key={state}
      class={`chip ${state === null || state === "expiring" || state === "partial" ? "opt" : ""}`}
      type="button"
      aria-pressed={props.chosen === state}
      onClick={() => setQuery({ state }, true)}
    >
      {(state === "stale" || state === "partial") && <Icon name={state} />}
      {state === null ? "All" : state === "nearly" ? "Nearly full" : capital(state)}{" "}
      <b class={state === "full" && count > 0 ? "n-full" : undefined}>{number(count)}</b>
    </button>
  );
  return (
    <>
      {chip(null, props.all)}
      {STATES.map((state) => chip(state, props.counts[state]))}
    </>
  );
}

const MOST = 20;

/** Lists the servers without any read feature, and the reason. Otherwise the list of features would look complete. */
export function Unread({ site }: Readonly<{ site: Site }>) {
  const unread = [...site.values()].filter(({ features }) => features.size === 0);
  if (unread.length === 0) return null;
  return (
    <ul class="unread-l">
      {unread.slice(0, MOST).map(({ id, lastPollAt, error }) => (
        <li key={id}>
          <b>{id}</b>
          {lastPollAt === null ? (
            <State is="unknown">not polled yet</State>
          ) : (
            <State is={error === null ? "unknown" : "crit"}>
              {error?.message ?? "no features were read"}
            </State>
          )}
          <code>licmond probe {id}</code>
        </li>
      ))}
      {unread.length > MOST && <li class="q">{`${number(unread.length - MOST)} more`}</li>}
    </ul>
  );
}
