import type { Denial } from "../domain/denials.ts";
import { type SortBy, sqlNullsLast } from "../domain/order.ts";
import {
  allOf,
  type Condition,
  compared,
  peopleIn,
  type Rows,
  type SessionFilter,
  sessionCondition,
} from "./conditions.ts";

type DenialFilter = SessionFilter & { readonly start: number | null; readonly end: number | null };

export const DENIAL_SORTS = [
  ...(["timestamp", "server", "daemon", "feature", "user", "host", "count", "reason", "code"] as const),
  ...(["attempts", "until", "outcome"] as const),
] as const;
export type DenialSort = (typeof DENIAL_SORTS)[number];

export interface DenialQuery extends DenialFilter {
  readonly sort: SortBy<DenialSort> | null;
  readonly limit: number | null;
  readonly offset: number;
}

export interface DenialPage {
  readonly rows: readonly Denial[];
  /** Number of matches before `limit` and `offset` apply. */
  readonly total: number;
}

/** Columns that make up a denial; '' means an unknown name. */
export const DENIAL_COLUMNS = `at, server_id AS server, daemon, nullif(feature, '') AS feature, nullif(user, '') AS user,
  host, count, reason, code, attempts, until, outcome`;

export function denialPage(rows: Rows, query: DenialQuery): DenialPage {
  const { sql, values } = conditionOf(query);
  const total = rows.all<{ total: number }>(`SELECT count(*) AS total FROM denials WHERE ${sql}`, ...values);
  const list = rows.all<Denial>(
    `SELECT ${DENIAL_COLUMNS} FROM denials WHERE ${sql} ORDER BY ${orderOf(query.sort)} LIMIT ? OFFSET ?`,
    ...values,
    query.limit ?? -1,
    query.offset,
  );
  return { rows: list, total: total[0]?.total ?? 0 };
}

export function deniedPeople(rows: Rows, filter: DenialFilter) {
  const { sql, values } = conditionOf({ ...filter, users: null, hosts: null });
  return peopleIn(rows, `denials WHERE ${sql}`, values);
}

export function lastDenied(rows: Rows, filter: DenialFilter) {
  const { sql, values } = conditionOf(filter);
  return (["user", "host"] as const).flatMap((kind) =>
    rows.all<{ kind: "user" | "host"; name: string; lastSeenAt: number }>(
      `SELECT '${kind}' AS kind, ${kind} AS name, max(until) AS lastSeenAt FROM denials WHERE ${sql} AND ${kind} <> '' GROUP BY ${kind}`,
      ...values,
    ),
  );
}

function conditionOf({ start, end, ...filter }: DenialFilter): Condition {
  const known = (names: readonly string[] | null) => names?.filter((name) => name !== "") ?? null;
  const named = { ...filter, features: known(filter.features), users: known(filter.users) };
  return allOf([sessionCondition(named), compared("at >=", start), compared("at <", end)]);
}

/** SQL for sort fields that are nullable or whose column has another name. */
const COLUMNS: Partial<Record<DenialSort, string>> = {
  timestamp: "at",
  server: "server_id",
  feature: "nullif(feature, '')",
  user: "nullif(user, '')",
};

function orderOf(sort: DenialQuery["sort"]): string {
  const newest = "at DESC, id DESC";
  if (sort === null) return newest;
  const column = COLUMNS[sort.field] ?? sort.field;
  const way = sort.descending ? "DESC" : "ASC";
  if (sort.field === "timestamp") return `at ${way}, id ${way}`;
  // Do not sort by user, because anonymized keys read this order, too.
  return `${column} ${sqlNullsLast(sort.descending)}, at, server_id, daemon, feature, id`;
}
