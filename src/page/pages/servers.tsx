import { compareNullsLast } from "../../domain/order.ts";
import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import {
  aloneOf,
  isOld,
  KIND_WORDS,
  KINDS,
  type Kind,
  kindOf,
  MARK_OF,
  membersUp,
  placeOf,
  readAt,
} from "../daily/condition.ts";
import { byName, milliseconds, number, plural } from "../format.ts";
import { site } from "../live/live.ts";
import { labelsOf } from "../model.ts";
import { Known } from "../parts/cells.tsx";
import { ALL, Csv } from "../parts/csv.tsx";
import { Age, State, Unknown, UsedOf } from "../parts/marks.tsx";
import { Choice, SearchField } from "../parts/search-field.tsx";
import { hrefOf, linkTo, query } from "../router.ts";
import { type ListColumn, ListTable, NoMatch, SortAgain } from "../tables/list-table.tsx";
import { useSteadyOrder } from "../tables/steady-order.ts";

/** Default order: worst first. */
const FIRST = "is";

/** Orders by their word in the address; null is last in both directions. */
const ORDERS: Readonly<Record<string, (server: KeptServer) => string | number | null>> = {
  server: ({ id }) => id.toLowerCase(),
  is: (server) => KINDS.indexOf(kindOf(server)),
  manager: ({ manager }) => manager,
  members: membersUp,
  features: ({ counts }) => counts.features,
  seats: ({ counts }) => counts.used,
  polled: readAt,
  took: ({ pollDurationMs }) => pollDurationMs,
  unparsed: ({ unparsedLines }) => unparsedLines,
};

const HEADS = {
  server: "Server",
  is: "State",
  manager: "Manager",
  members: "Members",
  features: "Features",
  seats: "Seats in use",
  polled: "Polled",
  took: "Poll took",
  unparsed: "Unparsed lines",
};
type Column = ListColumn<KeptServer>;
const column = (order: keyof typeof HEADS, width: string, style: string, cell: Column["cell"]) => ({
  order,
  width,
  cell,
  head: HEADS[order],
  class: style,
});
const COLUMNS: readonly Column[] = [
  column("server", "minmax(9.375rem, 1.2fr)", "a-n el", (server) => (
    <a class="name" href={hrefOf(placeOf(server))}>
      {server.id} {server.name !== server.id && <span class="q">{server.name}</span>}
    </a>
  )),
  column("is", "minmax(10.625rem, 1.2fr)", "a-s el", (server) => (
    <State is={MARK_OF[kindOf(server)]}>{aloneOf(server)}</State>
  )),
  column("manager", "4.75rem", "q opt", ({ manager }) => manager),
  column("members", "5.25rem", "r q opt", (server) =>
    server.members.length === 0 ? <Unknown /> : `${membersUp(server)} of ${server.members.length}`,
  ),
  column("features", "4.375rem", "r opt", ({ counts }) => <Known value={counts.features} />),
  column("seats", "6rem", "r a-f", ({ counts }) => <UsedOf {...counts} />),
  column("polled", "4.5rem", "r q a-w", (server) => (
    <Known value={readAt(server)} as={(at) => <Age at={at} />} />
  )),
  column("took", "4.5rem", "r q opt", ({ pollDurationMs }) => (
    <Known value={pollDurationMs} as={milliseconds} />
  )),
  column("unparsed", "6.5rem", "r q opt", ({ unparsedLines }) => number(unparsedLines)),
];

/** Lists all license servers with condition and age. */
export function Servers() {
  const all = [...(site.value?.values() ?? [])];
  const asked = query.value;
  const fresh = sorted(all.filter(matches), asked.get("sort") ?? FIRST);
  const { rows, moved, again, events } = useSteadyOrder(fresh, asked.toString());
  const label = asked.get("label");
  const kinds = KINDS.filter((kind) => all.some((server) => kindOf(server) === kind));
  const labels = [...new Set(all.flatMap(labelsOf))].sort(byName);
  const managers = [...new Set(all.map(({ manager }) => manager))];
  return (
    <>
      <h1 class="vh">Servers</h1>
      <SearchField label="Search servers" hint="Server, host, daemon or label" />
      <div class="chips" role="group" aria-label="Filters">
        <p class="count q" role="status">
          {plural(rows.length, "server")}
        </p>
        <Choice
          name="is"
          any="State: any"
          values={kinds}
          word={(kind) => `State: ${KIND_WORDS[kind as Kind]}`}
        />
        {managers.length > 1 && (
          <Choice name="manager" any="Manager: any" values={managers} word={(name) => `Manager: ${name}`} />
        )}
        {labels.length > 0 && (
          <Choice name="label" any="Label: any" values={labels} word={(label) => `Label: ${label}`} />
        )}
        <span class="end">
          <SortAgain moved={moved} again={again} />
          <a class="btn" href={linkTo("wall", label === null ? {} : { label })}>
            Wall
          </a>
          <Csv path="/api/licenses/servers" query={ALL} />
        </span>
      </div>
      <div {...events}>
        <ListTable
          label="Servers"
          class="st-t"
          rows={rows}
          columns={COLUMNS}
          first={FIRST}
          rowClass={(server) => (isOld(server) ? "stale-row" : "")}
        />
      </div>
      {rows.length === 0 && <NoMatch />}
    </>
  );
}

function matches(server: KeptServer): boolean {
  const asked = query.value;
  const is = (name: string, value: string) => (asked.get(name) ?? value) === value;
  const label = asked.get("label");
  const labels = labelsOf(server);
  if (!is("is", kindOf(server)) || !is("manager", server.manager)) return false;
  if (label !== null && !labels.includes(label)) return false;
  const { id, name, address, members, daemons } = server;
  const parts = [...daemons.map((one) => one.name), ...members.map(({ host }) => host)];
  const text = [id, name, address, ...labels, ...parts].join("\n").toLowerCase();
  return (asked.get("q") ?? "")
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function sorted(servers: KeptServer[], sort: string): KeptServer[] {
  const by = ORDERS[sort.replace("-", "")] ?? (() => null);
  return servers.sort((a, b) => compareNullsLast(by(a), by(b), sort.startsWith("-")) || byName(a.id, b.id));
}
