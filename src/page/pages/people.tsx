import { useMemo } from "preact/hooks";
import { featureIdKey } from "../../domain/history.ts";
import type { UsageRecord } from "../../domain/history-records.ts";
import { capital, number } from "../format.ts";
import { type GroupRow, groupedHolders, HOLDER_GROUPS, type HolderGroup } from "../groups.ts";
import { now, site } from "../live/live.ts";
import { allHolders, type HolderRow, nameOf, peopleOf, sortedHolders, sumOf } from "../model.ts";
import { useAnswer } from "../parts/answer.tsx";
import { stretch, Timeline } from "../parts/bar.tsx";
import { DenialFigure } from "../parts/denial-rows.tsx";
import { ALL, Csv, Figure, MOST_ROWS } from "../parts/figure.tsx";
import { FIRST, HELD, HolderList, hrefOfFeature, SEATS, SINCE } from "../parts/holders.tsx";
import {
  type ListColumn,
  ListTable,
  NoMatch,
  SortAgain,
  sortedBy,
  useSteadyOrder,
} from "../parts/list-table.tsx";
import { Unknown } from "../parts/marks.tsx";
import { coveredIn } from "../parts/past-head.tsx";
import { PrintFoot } from "../parts/print-foot.tsx";
import { Choice, SearchField, ServerChoice } from "../parts/search-field.tsx";
import { Crumbs, Head } from "../parts/section.tsx";
import { UsageRows } from "../parts/usage-rows.tsx";
import { sessionBegin } from "../past-rows.ts";
import { DAY_MS } from "../range.ts";
import { linkTo, query } from "../router.ts";
import { matchingHolders } from "../search.ts";
import { amount, peopleSeats, unlessSeats } from "../words.ts";

const HOUR_MS = 3_600_000;
const HELD_HOURS = ["1", "4", "8", "24", "168"];

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
  const held = rows.filter(({ kind }) => kind === "checkout");
  const [first] = rows;
  return (
    <>
      <h1 class="vh">People</h1>
      <SearchField label="Search people" hint="Person, host, feature or server" />
      <div class="chips" role="group" aria-label="Filters">
        <p class="count q" role="status">
          {peopleSeats(peopleOf(held), sumOf(held))}
          {rows.length > held.length && `, ${number(rows.length - held.length)} waiting`}
        </p>
        <ServerChoice />
        <Choice
          name="held"
          any="Held: any time"
          values={HELD_HOURS}
          word={(hours) =>
            hours === "168" ? "Held over 7 d" : hours === "24" ? "Held over 1 d" : `Held over ${hours} h`
          }
        />
        <Choice name="group" any="Group: none" values={HOLDER_GROUPS} word={(by) => `By ${by}`} />
        {feature !== null && (
          <a class="chip" href={linkTo("people")} aria-label="Clear filters">
            {`Feature: ${first === undefined ? feature : nameOf(first)}`} ×
          </a>
        )}
        <span class="end">
          <SortAgain moved={moved} again={again} />
          <Csv path="/api/licenses/users" query={ALL} />
        </span>
      </div>
      {group === undefined ? (
        <div {...events}>
          <HolderList rows={rows} />
        </div>
      ) : (
        <GroupList rows={rows} by={group} />
      )}
      {rows.length === 0 && <NoMatch />}
    </>
  );
}

const MOST_SEATS = "-count";

function GroupList({ rows, by }: Readonly<{ rows: readonly HolderRow[]; by: HolderGroup }>) {
  const sort = query.value.get("group-sort") ?? MOST_SEATS;
  const columns = useMemo(() => groupColumns(by), [by]);
  const groups = useMemo(() => sortedBy(groupedHolders(rows, by), columns, sort, () => 0), [rows, by, sort]);
  return (
    <ListTable<GroupRow>
      label={`By ${by}`}
      class="pt"
      rows={groups}
      name="group-sort"
      first={MOST_SEATS}
      columns={columns}
    />
  );
}

function groupColumns(by: HolderGroup): readonly ListColumn<GroupRow>[] {
  const others = by === "feature" ? "People" : "Features";
  const hrefOf = (first: HolderRow) =>
    by === "feature" ? hrefOfFeature(first) : linkTo("person", { [by]: first[by] ?? "" });
  return [
    {
      head: capital(by),
      order: "name",
      by: ({ name }) => name?.toLowerCase() ?? null,
      width: "minmax(7.5rem, 1.4fr)",
      class: "a-n",
      cell: ({ name, first, unit }) =>
        name === null ? (
          <Unknown />
        ) : (
          <a class="name" href={hrefOf(first)} title={name}>
            {name}
            <span class="q">{unlessSeats(unit)}</span>
          </a>
        ),
    },
    {
      head: others,
      order: "others",
      by: (row) => row.others,
      width: "minmax(4rem, 0.5fr)",
      class: "a-s r",
      cell: (row) => (
        <>
          {number(row.others)} <span class="q card-word">{others.toLowerCase()}</span>
        </>
      ),
    },
    { ...SEATS, by: ({ count }) => count, width: "minmax(3.75rem, 0.5fr)" },
    {
      head: "Waits",
      order: "waits",
      by: ({ waiting }) => waiting,
      width: "minmax(3.75rem, 0.5fr)",
      class: "r",
      cell: ({ waiting }) => <span class={waiting > 0 ? "n-full" : "q"}>{number(waiting)}</span>,
    },
    { ...SINCE, by: ({ since }) => since },
    {
      ...HELD,
      by: ({ since }) => (since === null ? null : -since),
      cell: (row) => HELD.cell({ ...row, kind: "checkout" }),
    },
  ];
}

export function Person() {
  const by = query.value.has("host") ? "host" : "user";
  const name = query.value.get(by) ?? "";
  const held = allHolders(site.value ?? new Map<string, never>()).filter(
    (row) => row[by] === name && row.kind !== "reservation" && row.kind !== "assigned",
  );
  const rows = sortedHolders(held, query.value.get("sort") ?? "since");
  const seats = sumOf(rows.filter(({ kind }) => kind === "checkout"));
  return (
    <>
      <Crumbs path={[<a href={linkTo("people")}>People</a>]} name={name} />
      <section class="sec flush">
        <Head title="Has now" note={amount(seats)} />
        {rows.length === 0 ? <p class="q">Nothing now.</p> : <HolderList rows={rows} />}
      </section>
      {/* The API separates names by commas, so it cannot be asked for such a name. */}
      {name.includes(",") ? (
        <p class="sec q">History of a name with a comma is not available.</p>
      ) : (
        <PersonPast by={by} name={name} />
      )}
    </>
  );
}

function PersonPast({ by, name }: Readonly<{ by: "user" | "host"; name: string }>) {
  const range = { start: now.peek() - 90 * DAY_MS, end: now.peek(), word: null };
  const asked = { [by]: name, start: "-90d" };
  const { answer } = useAnswer("/api/licenses/sessions", { ...asked, limit: `${MOST_ROWS}` });
  const { answer: polls } = useAnswer("/api/licenses/outages", { start: "-90d", limit: "1" });
  const sessions = Map.groupBy(answer?.sessions ?? [], featureIdKey);
  const heldIn = (row: UsageRecord) => [
    ...(polls?.servers.find(({ server }) => server === row.server)?.gaps ?? []).map(({ start, end }) =>
      stretch("unread", start, end),
    ),
    ...(sessions.get(featureIdKey(row)) ?? []).map((session) =>
      stretch("use", new Date(sessionBegin(session)).toISOString(), session.endedAt ?? session.lastSeenAt),
    ),
  ];
  return (
    <>
      <Figure
        title="Used in 90 days"
        path="/api/licenses/usage"
        query={{ ...asked, limit: `${MOST_ROWS}`, group_by: "feature" }}
        note={(answer) => coveredIn(answer, [answer])}
      >
        {({ groups, total }) => (
          <UsageRows
            by="feature"
            groups={groups}
            total={total}
            isOfOne={by === "user"}
            lane={{
              head: "Over time",
              wide: true,
              by: ({ lastUsedAt }) => lastUsedAt,
              cell: (row) => <Timeline range={range} of={heldIn(row)} />,
            }}
          />
        )}
      </Figure>
      <DenialFigure
        title="Denied in 90 days"
        query={{ ...asked, sort: "-timestamp" }}
        range={range}
        isOfMany
      />
      <PrintFoot range={range} />
    </>
  );
}
