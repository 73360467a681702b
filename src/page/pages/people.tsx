import { useMemo } from "preact/hooks";
import { number } from "../format.ts";
import { HOLDER_GROUPS } from "../groups.ts";
import { now, site } from "../live/live.ts";
import { allHolders, type HolderRow, nameOf, sortedHolders } from "../model.ts";
import { SortHead } from "../parts/head-cell.tsx";
import { Held, Since } from "../parts/holder-table.tsx";
import { Choice, SearchField } from "../parts/search-field.tsx";
import { useSteadyOrder } from "../parts/steady-order.ts";
import { VirtualRows } from "../parts/virtual.tsx";
import { go, linkTo, query } from "../router.ts";
import { matchingHolders } from "../search.ts";
import { words } from "../words.ts";
import { GroupList } from "./people-groups.tsx";

/** The order of an address that says none: who holds longest. */
const FIRST = "since";

const HOUR_MS = 3_600_000;
const HELD_HOURS = ["1", "4", "8", "24", "168"];

/** Who has what, and who waits. */
export function People() {
  const servers = site.value ?? new Map<string, never>();
  const asked = query.value;
  const feature = asked.get("feature");
  const hours = Number(asked.get("held"));
  const before = hours > 0 ? now.peek() - hours * HOUR_MS : null;
  const filter = { search: asked.get("q") ?? "", server: asked.get("server"), feature, before };
  const group = HOLDER_GROUPS.find((each) => each === asked.get("group"));
  const sort = asked.get("sort") ?? FIRST;
  const all = useMemo(() => sortedHolders(allHolders(servers), sort), [servers, sort]);
  const fresh = matchingHolders(all, filter);
  const { rows, moved, again, events } = useSteadyOrder(fresh, asked.toString());
  const seats = rows.reduce((sum, { kind, count }) => sum + (kind === "checkout" ? count : 0), 0);
  const [first] = rows;
  return (
    <>
      <h1 class="vh">{words.people}</h1>
      <SearchField label={words.searchPeople} hint={words.searchPeopleHint} />
      <div class="chips" role="group" aria-label={words.filters}>
        <p class="count q" role="status">
          {words.peopleSeats(new Set(rows.map(({ user }) => user)).size, seats)}
        </p>
        <Choice name="server" any={words.anyServer} values={[...servers.keys()]} word={words.server} />
        <Choice name="held" any={words.heldAny} values={HELD_HOURS} word={words.heldOver} />
        <Choice name="group" any={words.groupNone} values={HOLDER_GROUPS} word={words.groupedBy} />
        {feature !== null && (
          <a class="chip" href={linkTo("people")} aria-label={words.clear}>
            {words.onlyFeature(first === undefined ? feature : nameOf(first))} ×
          </a>
        )}
        <span class="end">
          {moved > 0 && (
            <button class="btn" type="button" onClick={again}>
              {words.changes(moved)}
            </button>
          )}
          <a class="btn" href="./api/licenses/users?format=csv" download>
            {words.csv}
          </a>
        </span>
      </div>
      {group === undefined ? (
        <div {...events}>
          <HolderList rows={rows} />
        </div>
      ) : (
        <GroupList rows={rows} by={group} />
      )}
      {rows.length === 0 && (
        <div class="empty">
          <p>{words.noMatch}</p>
          <button class="btn" type="button" onClick={() => go(linkTo("people"))}>
            {words.clear}
          </button>
        </div>
      )}
    </>
  );
}

/** Rows as they are ordered; the heads change `sort` in the address. */
export function HolderList({ rows }: { readonly rows: readonly HolderRow[] }) {
  return (
    <div class="t pt" role="table" aria-label={words.people} aria-rowcount={rows.length + 1}>
      <Head />
      <VirtualRows rows={rows}>{(row, index) => <Row row={row} index={index} />}</VirtualRows>
    </div>
  );
}

function Head() {
  const { columns } = words;
  const heads = [
    ["user", columns.user, ""],
    ["host", columns.host, ""],
    ["feature", columns.feature, ""],
    ["server", columns.server, "opt"],
    ["count", columns.count, "r"],
    ["since", columns.since, "r opt"],
  ] as const;
  return (
    <div class="tr th" role="row" aria-rowindex={1}>
      {heads.map(([order, word, more]) => (
        <SortHead key={order} order={order} first={FIRST} class={more}>
          {word}
        </SortHead>
      ))}
      <span role="columnheader" class="r">
        {columns.held}
      </span>
      <span role="columnheader" class="opt">
        <span class="vh">{words.kind}</span>
      </span>
    </div>
  );
}

function Row({ row, index }: { readonly row: HolderRow; readonly index: number }) {
  const { server, kind, user, host, count } = row;
  const feature = server.features.get(row.feature);
  return (
    <div class={`tr ${feature?.state === "stale" ? "stale-row" : ""}`} role="row" aria-rowindex={index}>
      <span role="cell" class="a-n el">
        {user === null ? words.notKnown : <a href={linkTo("person", { user })}>{user}</a>}
      </span>
      <span role="cell" class="m el a-h">
        {host !== null && <a href={linkTo("person", { host })}>{host}</a>}
      </span>
      <span role="cell" class="a-w el">
        <a
          class="name"
          href={linkTo("feature", { server: server.id, daemon: feature?.daemon ?? "", name: nameOf(row) })}
        >
          {nameOf(row)}
        </a>
      </span>
      <span role="cell" class="q el opt">
        {server.id}
      </span>
      <span role="cell" class={`r a-c s ${count === 1 ? "one" : ""}`}>
        {number(count)}
      </span>
      <Since row={row} />
      <Held row={row} />
      <span role="cell" class="opt">
        {kind === "queued" && <span class="n-full">{words.waitsNow}</span>}
      </span>
    </div>
  );
}
