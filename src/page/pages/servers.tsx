import type { ComponentChildren } from "preact";
import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import { aloneOf, isOld, KINDS, kindOf, MARK_OF, membersUp, placeOf, readAt } from "../daily/condition.ts";
import { daily } from "../daily/words.ts";
import { byName, milliseconds } from "../format.ts";
import { site } from "../live/live.ts";
import { compare, labelsOf } from "../model.ts";
import { Known } from "../parts/cells.tsx";
import { SortHead } from "../parts/head-cell.tsx";
import { Age, State, UsedOf } from "../parts/marks.tsx";
import { Choice, NoMatch, SearchField } from "../parts/search-field.tsx";
import { useSteadyOrder } from "../parts/steady-order.ts";
import { VirtualRows } from "../parts/virtual.tsx";
import { hrefOf, linkTo, query } from "../router.ts";
import { words } from "../words.ts";

/** The order of an address that says none: the worst first. */
const FIRST = "is";

interface Column {
  readonly order: keyof typeof daily.columns;
  /** What rows are ordered by; null is last in both directions. */
  readonly by: (server: KeptServer) => string | number | null;
  readonly class: string;
  readonly cell: (server: KeptServer) => ComponentChildren;
}

const COLUMNS: readonly Column[] = [
  {
    order: "server",
    by: ({ id }) => id.toLowerCase(),
    class: "a-n el",
    cell: (server) => (
      <a class="name" href={hrefOf(placeOf(server))}>
        {server.id} {server.name !== server.id && <span class="q">{server.name}</span>}
      </a>
    ),
  },
  {
    order: "is",
    by: (server) => KINDS.indexOf(kindOf(server)),
    class: "a-b el",
    cell: (server) => <State is={MARK_OF[kindOf(server)]}>{aloneOf(server)}</State>,
  },
  { order: "manager", by: ({ manager }) => manager, class: "q opt", cell: ({ manager }) => manager },
  {
    order: "members",
    by: membersUp,
    class: "r q opt",
    cell: (server) => server.members.length > 0 && words.membersUp(membersUp(server), server.members.length),
  },
  {
    order: "features",
    by: ({ counts }) => counts.features,
    class: "r opt",
    cell: ({ counts }) => <Known value={counts.features} />,
  },
  {
    order: "seats",
    by: ({ counts }) => counts.used,
    class: "r a-f",
    cell: ({ counts }) => <UsedOf {...counts} />,
  },
  {
    order: "polled",
    by: readAt,
    class: "r q a-w",
    cell: (server) => <Known value={readAt(server)} as={(at) => <Age at={at} />} />,
  },
  {
    order: "took",
    by: ({ pollDurationMs }) => pollDurationMs,
    class: "r q opt",
    cell: ({ pollDurationMs }) => <Known value={pollDurationMs} as={milliseconds} />,
  },
  {
    order: "unparsed",
    by: ({ unparsedLines }) => unparsedLines,
    class: "r q opt",
    cell: ({ unparsedLines }) => <Known value={unparsedLines} />,
  },
];

/** Every license server: whether it works, and how old what it said is. */
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
      <h1 class="vh">{words.serversPage}</h1>
      <SearchField label={daily.searchServers} hint={daily.searchServersHint} />
      <div class="chips" role="group" aria-label={words.filters}>
        <p class="count q" role="status">
          {daily.serverCount(rows.length)}
        </p>
        <Choice name="is" any={daily.anyKind} values={kinds} word={daily.kind} />
        {managers.length > 1 && (
          <Choice name="manager" any={daily.anyManager} values={managers} word={daily.manager} />
        )}
        {labels.length > 0 && <Choice name="label" any={words.anyLabel} values={labels} word={words.label} />}
        <span class="end">
          {moved > 0 && (
            <button class="btn" type="button" onClick={again}>
              {words.changes(moved)}
            </button>
          )}
          <a class="btn" href={linkTo("wall", label === null ? {} : { label })}>
            {words.wall}
          </a>
          <a class="btn" href="./api/licenses/servers?format=csv" download>
            {words.csv}
          </a>
        </span>
      </div>
      <div
        class="t st-t"
        role="table"
        aria-label={words.serversPage}
        aria-rowcount={rows.length + 1}
        {...events}
      >
        <div class="tr th" role="row" aria-rowindex={1}>
          {COLUMNS.map(({ order, class: style }) => (
            <SortHead key={order} order={order} first={FIRST} class={style}>
              {daily.columns[order]}
            </SortHead>
          ))}
        </div>
        <VirtualRows rows={rows}>
          {(server, index) => (
            <div class={`tr ${isOld(server) ? "stale-row" : ""}`} role="row" aria-rowindex={index}>
              {COLUMNS.map(({ order, class: style, cell }) => (
                <span key={order} role="cell" class={style}>
                  {cell(server)}
                </span>
              ))}
            </div>
          )}
        </VirtualRows>
      </div>
      {rows.length === 0 && <NoMatch path="servers" />}
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
  const order = sort.replace(/^-/, "");
  const { by } = COLUMNS.find((column) => column.order === order) ?? (COLUMNS[1] as Column);
  return servers.sort((a, b) => compare(by(a), by(b), sort.startsWith("-")) || byName(a.id, b.id));
}
