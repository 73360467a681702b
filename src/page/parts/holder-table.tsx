import { slugOf } from "../arrange.ts";
import { capital, duration, moment, shortIn } from "../format.ts";
import { now } from "../live/live.ts";
import { type HolderRow, nameOf, sortedHolders } from "../model.ts";
import { linkTo, query } from "../router.ts";
import { matchingHolders } from "../search.ts";
import { unitWord, unlessSeats } from "../words.ts";
import { type ListColumn, ListTable } from "./list-table.tsx";
import { Known, Person, State, Unknown } from "./marks.tsx";
import { Filter } from "./search-field.tsx";

export const FIRST = "since";
const LONG_MS = 86_400_000;

export const SINCE: ListColumn<Pick<HolderRow, "since">> = {
  head: "Since",
  order: "since",
  width: "minmax(5.75rem, 7.5rem)",
  class: "a-w r",
  cell: ({ since }) => <Known value={since} as={(at) => moment(at, now.peek())} />,
};

type Lasting = Pick<HolderRow, "since" | "kind">;
export const HELD: ListColumn<Lasting> = {
  head: "Held",
  order: "held",
  width: "minmax(6.5rem, 7.5rem)",
  class: "a-f r",
  cell: (row) => <Held row={row} />,
};

/** Marks checkouts of more than a day. */
function Held({ row: { since, kind } }: Readonly<{ row: Lasting }>) {
  if (since === null) return <Unknown />;
  const ms = now.value - since;
  if (kind !== "checkout" || ms <= LONG_MS) return <>{duration(ms)}</>;
  return (
    <State is="warn">
      <span class="vh">over 1 day, </span>
      {duration(ms)}
    </State>
  );
}

export const SEATS: ListColumn<Pick<HolderRow, "count" | "unit">> = {
  head: "Seats",
  order: "count",
  width: "3.5rem",
  class: "a-b r",
  cell: ({ count, unit }) => (
    <>
      {shortIn(unit)(count)}
      <span class="q card-word"> {unitWord(count, unit)}</span>
    </>
  ),
};

const USER: ListColumn<HolderRow> = {
  head: "User",
  order: "user",
  width: "minmax(5rem, 1fr)",
  class: "a-s el",
  cell: Person,
};
const HOST: ListColumn<HolderRow> = {
  head: "Host",
  order: "host",
  width: "minmax(6.25rem, 1fr)",
  class: "m el",
  cell: ({ host }) => (host === null ? <Unknown /> : <a href={linkTo("person", { host })}>{host}</a>),
};
const COLUMNS: readonly ListColumn<HolderRow>[] = [
  USER,
  HOST,
  {
    head: "Feature",
    order: "feature",
    width: "minmax(7.5rem, 1.3fr)",
    class: "a-n",
    cell: (row) => (
      <a class="name" href={hrefOfFeature(row)}>
        {nameOf(row)}
        <span class="q">{unlessSeats(row.unit)}</span>
      </a>
    ),
  },
  { head: "Server", order: "server", width: "5.625rem", class: "q el opt", cell: ({ server }) => server.id },
  SEATS,
  SINCE,
  HELD,
  {
    head: "State",
    order: "kind",
    width: "3.75rem",
    class: "opt",
    cell: ({ kind }) => kind === "queued" && <span class="n-full">waits</span>,
  },
];

export function hrefOfFeature({ server, feature }: Pick<HolderRow, "server" | "feature">): string {
  const { daemon = "", name = feature } = server.features.get(feature) ?? {};
  return linkTo("feature", { server: server.id, daemon, name });
}

export function HolderList({ rows }: Readonly<{ rows: readonly HolderRow[] }>) {
  return (
    <ListTable
      label="People"
      class="pt"
      rows={rows}
      columns={COLUMNS}
      first={FIRST}
      rowClass={({ server, feature }) => (server.features.get(feature)?.state === "stale" ? "stale-row" : "")}
    />
  );
}

const OF_FEATURE: readonly ListColumn<HolderRow>[] = [
  {
    ...USER,
    class: "a-n",
    cell: ({ user }) =>
      user === null ? (
        <Unknown />
      ) : (
        <a class="name" href={linkTo("person", { user })}>
          {user}
        </a>
      ),
  },
  { ...HOST, class: "a-s m el", cell: ({ host }) => host ?? <Unknown /> },
];

/** Lists holders and waiting requests of one feature. `lasts`: head of the duration column. */
export function HolderTable(props: Readonly<{ rows: readonly HolderRow[]; label: string; lasts: string }>) {
  const { label, lasts } = props;
  const [sort, search] = [`${slugOf(label)}-sort`, `${slugOf(label)}-q`];
  const all = sortedHolders([...props.rows], query.value.get(sort) ?? FIRST);
  const rows = matchingHolders(all, { search: query.value.get(search) ?? "", server: null, feature: null });
  const seats = { ...SEATS, head: capital(all[0]?.unit ?? "seats") };
  return (
    <>
      <Filter label={label} name={search} found={rows.length} all={all.length} />
      <ListTable
        label={label}
        class="tt"
        rows={rows}
        columns={[...OF_FEATURE, seats, SINCE, { ...HELD, head: lasts }]}
        name={sort}
        first={FIRST}
        isWhole
      />
    </>
  );
}
