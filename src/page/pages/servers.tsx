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
import { groupsOf } from "../daily/figures.ts";
import { byName, milliseconds, number, plural } from "../format.ts";
import { site } from "../live/live.ts";
import { labelsOf, type Site } from "../model.ts";
import { useAnswer } from "../parts/answer.tsx";
import { ALL, Csv } from "../parts/figure.tsx";
import {
  type ListColumn,
  ListTable,
  NoMatch,
  SortAgain,
  sortedBy,
  useSteadyOrder,
} from "../parts/list-table.tsx";
import { Age, Known, State, Unknown, UsedOf } from "../parts/marks.tsx";
import { Rows } from "../parts/rows.tsx";
import { Choice, LabelChoice, SearchField } from "../parts/search-field.tsx";
import { Section } from "../parts/section.tsx";
import { hrefOf, linkTo, query } from "../router.ts";

const FIRST = "is";

type Column = ListColumn<KeptServer>;
const KEYS = {
  server: ["Server", ({ id }) => id.toLowerCase()],
  is: ["State", (server) => KINDS.indexOf(kindOf(server))],
  manager: ["Manager", ({ manager }) => manager],
  members: ["Members", membersUp],
  features: ["Features", ({ counts }) => counts.features],
  seats: ["Seats in use", ({ counts }) => counts.used],
  polled: ["Polled", readAt],
  took: ["Poll took", ({ pollDurationMs }) => pollDurationMs],
  unparsed: ["Unparsed lines", ({ unparsedLines }) => unparsedLines],
} satisfies Record<string, [head: string, by: Column["by"]]>;
const column = (order: keyof typeof KEYS, width: string, style: string, cell: Column["cell"]): Column => {
  const [head, by] = KEYS[order];
  return { order, head, by, width, class: style, cell };
};
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

export function Servers() {
  const all = [...(site.value?.values() ?? [])];
  const asked = query.value;
  const fresh = sortedBy(all.filter(matches), COLUMNS, asked.get("sort") ?? FIRST, (a, b) =>
    byName(a.id, b.id),
  );
  const { rows, moved, again, events } = useSteadyOrder(fresh, asked.toString());
  const label = asked.get("label");
  const kinds = KINDS.filter((kind) => all.some((server) => kindOf(server) === kind));
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
          label="State"
          values={kinds}
          word={(kind) => `State: ${KIND_WORDS[kind as Kind]}`}
        />
        {managers.length > 1 && <Choice name="manager" label="Manager" values={managers} />}
        <LabelChoice />
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

export function ServerGroups({ servers }: Readonly<{ servers: Site }>) {
  return (
    <Section title="Servers" note={number(servers.size)} more={["All servers", { path: "servers" }]}>
      <Rows
        label="Servers"
        rows={groupsOf(servers)}
        columns={[
          {
            head: "Label",
            by: ({ key }) => key,
            cell: ({ key, by }) =>
              key === "" ? "without label" : <a href={linkTo("servers", { [by]: key })}>{key}</a>,
          },
          { head: "Servers", value: ({ count }) => count },
          {
            head: "Not fine",
            right: true,
            by: ({ troubled }) => troubled,
            cell: ({ troubled }) =>
              troubled === 0 ? <span class="q">0</span> : <State is="warn">{number(troubled)}</State>,
          },
          {
            head: "Seats in use",
            right: true,
            by: ({ used }) => used,
            cell: (group) => <UsedOf {...group} />,
          },
        ]}
      />
    </Section>
  );
}

const EXAMPLE = `[[servers]]
id = "eda"
manager = "flexnet"                 # licmond managers lists them
address = "27000@license-server"
tool = "/opt/flexnet/lmutil"        # the vendor's lmutil or rlmutil`;
const CHECK = `licmond probe flexnet 27000@license-server --tool /opt/flexnet/lmutil
systemctl reload licmond`;

export function NoServers() {
  // Path of the config file; undefined while loading, and for roles without access.
  const config = useAnswer("/api/status", {}).answer?.configFile;
  return (
    <div class="empty">
      <h1>No license server is configured.</h1>
      <p>
        {config === null
          ? "licmond runs without a config. Write one with licmond init, add a server at its end, and start licmond with --config:"
          : config === undefined
            ? "Append one to licmond's config:"
            : `Add one at the end of the config, ${config}:`}
      </p>
      <pre class="m">{EXAMPLE}</pre>
      <p>Check that it answers, then reload the config:</p>
      <pre class="m">{CHECK}</pre>
      <p class="q">
        All settings are explained in the config that licmond init writes, and in docs/config.md.
      </p>
    </div>
  );
}
