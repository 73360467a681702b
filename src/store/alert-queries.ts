import type { Alert, AlertRule, AlertState, Severity } from "../domain/alerts.ts";
import { isAmong, type Rows, whereAll } from "./denial-queries.ts";

/** Null = any. */
export interface AlertFilter {
  readonly severities: readonly Severity[] | null;
  readonly acknowledged: boolean | null;
  readonly state: AlertState | null;
  readonly servers: readonly string[] | null;
  readonly rules: readonly AlertRule[] | null;
}

/** A stored alert without what is never shown. */
export type ListedAlert = Omit<Alert, "detail" | "told">;

const COLUMNS = `id, rule, severity, server, daemon, feature, message, value, threshold, started_at AS startedAt,
  resolved_at AS resolvedAt, acknowledged_at AS acknowledgedAt, acknowledged_by AS acknowledgedBy, comment,
  silenced_until AS silencedUntil`;

/** Newest first. */
export function alertPage(
  read: Rows,
  { severities, acknowledged, state, servers, rules }: AlertFilter,
  limit: number,
  offset: number,
): { readonly rows: readonly ListedAlert[]; readonly total: number } {
  const { where, values } = whereAll([
    isAmong("severity", severities),
    isAmong("server", servers),
    isAmong("rule", rules),
    acknowledged === null ? null : [`acknowledged_at IS ${acknowledged ? "NOT " : ""}NULL`],
    state === null ? null : [`resolved_at IS ${state === "firing" ? "" : "NOT "}NULL`],
  ]);
  const [count] = read.all<{ total: number }>(`SELECT count(*) AS total FROM alerts${where}`, ...values);
  const rows = read.all<ListedAlert>(
    `SELECT ${COLUMNS} FROM alerts${where} ORDER BY id DESC LIMIT ? OFFSET ?`,
    ...values,
    limit,
    offset,
  );
  return { rows, total: count?.total ?? 0 };
}
