import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import { aloneOf, isOld, KINDS, kindOf, MARK_OF, readAt } from "../daily/condition.ts";
import { placeOf } from "../daily/sentence.ts";
import { daily } from "../daily/words.ts";
import { byName, duration, number } from "../format.ts";
import { site } from "../live/live.ts";
import { labelsOf } from "../model.ts";
import { SortHead } from "../parts/head-cell.tsx";
import { Age, State, Unknown } from "../parts/marks.tsx";
import { Choice, SearchField } from "../parts/search-field.tsx";
import { useSteadyOrder } from "../parts/steady-order.ts";
import { VirtualRows } from "../parts/virtual.tsx";
import { go, hrefOf, linkTo, query } from "../router.ts";
import { words } from "../words.ts";

/** The order of an address that says none: the worst first. */
const FIRST = "is";

const ORDERS = {
  is: (server: KeptServer) => KINDS.indexOf(kindOf(server)),
  server: ({ id }: KeptServer) => id,
  manager: ({ manager }: KeptServer) => manager,
  features: ({ counts }: KeptServer) => counts.features,
  seats: ({ counts }: KeptServer) => counts.used,
  polled: (server: KeptServer) => readAt(server),
  took: ({ pollDurationMs }: KeptServer) => pollDurationMs,
  unparsed: ({ unparsedLines }: KeptServer) => unparsedLines,
} as const;

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
        <Choice name="is" any={daily.anyKind} values={kinds} word={(kind) => daily.kind(kindWord(kind))} />
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
        <Head />
        <VirtualRows rows={rows}>{(row, index) => <Row server={row} index={index} />}</VirtualRows>
      </div>
      {rows.length === 0 && (
        <div class="empty">
          <p>{words.noMatch}</p>
          <button class="btn" type="button" onClick={() => go(linkTo("servers"))}>
            {words.clear}
          </button>
        </div>
      )}
    </>
  );
}

const kindWord = (word: string) => daily.kinds[KINDS.find((kind) => kind === word) ?? "fine"];

function matches(server: KeptServer): boolean {
  const asked = query.value;
  const is = (name: string, value: string) => (asked.get(name) ?? value) === value;
  const label = asked.get("label");
  if (!is("is", kindOf(server)) || !is("manager", server.manager)) return false;
  if (label !== null && !labelsOf(server).includes(label)) return false;
  const { id, name, address, members, daemons } = server;
  const parts = [
    id,
    name,
    address,
    ...labelsOf(server),
    ...daemons.map((one) => one.name),
    ...members.map(({ host }) => host),
  ];
  const text = parts.join("\n").toLowerCase();
  return (asked.get("q") ?? "")
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** Not known is last in both directions; equal ones by id. */
function sorted(servers: KeptServer[], sort: string): KeptServer[] {
  const direction = sort.startsWith("-") ? -1 : 1;
  const keyOf = ORDERS[sort.replace(/^-/, "") as keyof typeof ORDERS] ?? ORDERS[FIRST];
  return servers.sort((a, b) => {
    const [one, other] = [keyOf(a), keyOf(b)];
    if (one === other) return byName(a.id, b.id);
    if (one === null || other === null) return one === null ? 1 : -1;
    const isText = typeof one === "string" || typeof other === "string";
    return direction * (isText ? byName(`${one}`, `${other}`) : one - other);
  });
}

function Head() {
  const { columns } = daily;
  const heads = [
    ["server", columns.server, ""],
    ["is", columns.is, ""],
    ["manager", columns.manager, "opt"],
    ["members", columns.members, "r opt"],
    ["features", columns.features, "r opt"],
    ["seats", columns.seats, "r"],
    ["polled", columns.polled, "r"],
    ["took", columns.took, "r opt"],
    ["unparsed", columns.unparsed, "r opt"],
  ] as const;
  return (
    <div class="tr th" role="row" aria-rowindex={1}>
      {heads.map(([order, word, more]) =>
        order === "members" ? (
          <span key={order} role="columnheader" class={more}>
            {word}
          </span>
        ) : (
          <SortHead key={order} order={order} first={FIRST} class={more}>
            {word}
          </SortHead>
        ),
      )}
    </div>
  );
}

function Row({ server, index }: { readonly server: KeptServer; readonly index: number }) {
  const { id, name, manager, members, counts, pollDurationMs, unparsedLines } = server;
  const up = members.filter(({ status }) => status === "up").length;
  const at = readAt(server);
  return (
    <div class={`tr ${isOld(server) ? "stale-row" : ""}`} role="row" aria-rowindex={index}>
      <span role="cell" class="a-n el">
        <a class="name" href={hrefOf(placeOf(server))}>
          {id} {name !== id && <span class="q">{name}</span>}
        </a>
      </span>
      <span role="cell" class="a-b el">
        <State is={MARK_OF[kindOf(server)]}>{aloneOf(server)}</State>
      </span>
      <span role="cell" class="q opt">
        {manager}
      </span>
      <span role="cell" class="r q opt">
        {members.length > 0 && words.membersUp(up, members.length)}
      </span>
      <span role="cell" class="r opt">
        {counts.features === null ? <Unknown /> : number(counts.features)}
      </span>
      <span role="cell" class="r a-f">
        {counts.used === null ? <Unknown /> : number(counts.used)}
        {counts.used !== null && counts.total !== null && <span class="q">/{number(counts.total)}</span>}
      </span>
      <span role="cell" class="r q a-w">
        {at === null ? <Unknown /> : <Age at={at} />}
      </span>
      <span role="cell" class="r q opt">
        {pollDurationMs === null ? <Unknown /> : milliseconds(pollDurationMs)}
      </span>
      <span role="cell" class={`r opt ${unparsedLines > 0 ? "" : "q"}`}>
        {number(unparsedLines)}
      </span>
    </div>
  );
}

/** `420 ms`, `1.2 s`, then as other durations. */
export function milliseconds(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : duration(ms);
}
