import type { ComponentChildren } from "preact";
import { slugOf } from "../arrange.ts";
import { capital, duration, moment, number, shortIn } from "../format.ts";
import { now } from "../live/live.ts";
import { type FeatureRow, type HolderRow, isFull, nameOf, sortedHolders } from "../model.ts";
import { linkTo, query } from "../router.ts";
import { matchingHolders } from "../search.ts";
import { amount, reservedWords, unitWord, unlessSeats } from "../words.ts";
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

/** Lists holders and waiting requests of one feature. `lasts` is the head of the duration column. */
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

const MOST_CELLS = 40;
/** Minimum share of the strip in which a name fits. The table below shows all names. */
const LEAST_NAMED = 1 / 18;

export function Strip(props: {
  readonly row: FeatureRow;
  readonly holders: readonly HolderRow[];
  readonly waiting: readonly HolderRow[];
}) {
  const { feature } = props.row;
  const held = props.holders.reduce((sum, { count }) => sum + count, 0);
  const asked = props.waiting.reduce((sum, { count }) => sum + count, 0);
  const free = Math.max(0, feature.available ?? 0);
  const reserved = Math.min(feature.reserved ?? 0, Math.max(0, (feature.total ?? 0) - free));
  const all = held + reserved + free;
  if (feature.state === "failed" || all + asked === 0) return null;
  const isCells = all <= MOST_CELLS;
  const named = ({ user, count, unit }: HolderRow, more: typeof amount) =>
    count / (all + asked) >= LEAST_NAMED && (
      <>
        {user ?? "not known"}
        {count > 1 && <span class="q">{more(count, unit)}</span>}
      </>
    );
  return (
    <div
      class={`strip ${isFull(props.row) ? "full" : ""}`}
      style={{
        gridTemplateColumns: asked > 0 ? `minmax(0, ${all}fr) minmax(0, ${asked}fr)` : "minmax(0, 1fr)",
      }}
    >
      <ol aria-label="Seats in use">
        {props.holders.map((row) => (
          <Seats key={row.id} count={row.count} isCells={isCells}>
            {named(row, amount)}
          </Seats>
        ))}
        <Seats count={reserved} isCells={isCells} kind="kept">
          <span class="q">{reservedWords(reserved)}</span>
        </Seats>
        <Seats count={free} isCells={isCells} kind="free">
          <span class="q">{`${number(free)} free`}</span>
        </Seats>
      </ol>
      {asked > 0 && (
        <ol class="asked" aria-label="Seats requested">
          {props.waiting.map((row) => (
            <Seats key={row.id} count={row.count} isCells={asked <= MOST_CELLS}>
              {named(row, (count) => `waits for ${number(count)}`)}
            </Seats>
          ))}
        </ol>
      )}
    </div>
  );
}

function Seats(props: {
  readonly count: number;
  readonly isCells: boolean;
  readonly kind?: "kept" | "free";
  readonly children: ComponentChildren;
}) {
  if (props.count === 0) return null;
  return (
    <li class={props.kind} style={{ flexGrow: props.count }}>
      <div class="grp">
        {Array.from({ length: props.isCells ? props.count : 1 }, (_, at) => (
          <i key={at} />
        ))}
      </div>
      <span>{props.children}</span>
    </li>
  );
}
