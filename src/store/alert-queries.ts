import type { Alert, AlertRule, AlertState, Severity } from "../domain/alerts.ts";
import type { Rows } from "./denial-queries.ts";

/** Null = any. */
export interface AlertFilter {
  readonly severities: readonly Severity[] | null;
  readonly acknowledged: boolean | null;
  readonly state: AlertState | null;
  readonly servers: readonly string[] | null;
  readonly rules: readonly AlertRule[] | null;
}

/** A stored alert but for what is never shown. */
export type ListedAlert = Omit<Alert, "detail" | "told">;

const COLUMNS = `id, rule, severity, server, daemon, feature, message, value, threshold, started_at AS startedAt,
  resolved_at AS resolvedAt, acknowledged_at AS acknowledgedAt, acknowledged_by AS acknowledgedBy, comment,
  silenced_until AS silencedUntil`;

/** Newest first. */
export function alertPage(
  read: Rows,
  filter: AlertFilter,
  limit: number,
  offset: number,
): { readonly rows: readonly ListedAlert[]; readonly total: number } {
  const { where, values } = conditionOf(filter);
  const [count] = read.all<{ total: number }>(
    `SELECT count(*) AS total FROM alerts WHERE ${where}`,
    ...values,
  );
  const rows = read.all<ListedAlert>(
    `SELECT ${COLUMNS} FROM alerts WHERE ${where} ORDER BY id DESC LIMIT ? OFFSET ?`,
    ...values,
    limit,
    offset,
  );
  return { rows, total: count?.total ?? 0 };
}

function conditionOf({ severities, acknowledged, state, servers, rules }: AlertFilter) {
  const parts = ["true"];
  const values: string[] = [];
  for (const [column, list] of [
    ["severity", severities],
    ["server", servers],
    ["rule", rules],
  ] as const) {
    if (list === null) continue;
    parts.push(`${column} IN (SELECT value FROM json_each(?))`);
    values.push(JSON.stringify(list));
  }
  if (acknowledged !== null) parts.push(`acknowledged_at IS ${acknowledged ? "NOT " : ""}NULL`);
  if (state !== null) parts.push(`resolved_at IS ${state === "firing" ? "" : "NOT "}NULL`);
  return { where: parts.join(" AND "), values };
}
