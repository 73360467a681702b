import type { Alert, AlertState, Severity } from "../domain/alerts.ts";
import { allOf, compared, type Named, oneOf, type Rows } from "./conditions.ts";

/** Null means any. */
export interface AlertFilter {
  readonly filter: Named;
  /** Alerts that began before the end and were not resolved at the start; epoch ms. */
  readonly start: number | null;
  readonly end: number | null;
  readonly severities: readonly Severity[] | null;
  readonly acknowledged: boolean | null;
  readonly state: AlertState | null;
  readonly rules: readonly string[] | null;
}

export type ListedAlert = Omit<Alert, "detail" | "told">;

const COLUMNS = `id, rule, severity, server, daemon, feature, message, value, threshold, peak_value AS peakValue,
  started_at AS startedAt, fired_at AS firedAt,
  resolved_at AS resolvedAt, acknowledged_at AS acknowledgedAt, acknowledged_by AS acknowledgedBy, comment,
  silenced_until AS silencedUntil`;

export function alertPage(
  read: Rows,
  { filter, start, end, severities, acknowledged, state, rules }: AlertFilter,
  limit: number,
  offset: number,
): { readonly rows: readonly ListedAlert[]; readonly total: number } {
  const only = (sql: string | false) => (sql === false ? null : { sql, values: [] });
  const { sql, values } = allOf([
    oneOf("severity", severities),
    oneOf("server", filter.servers),
    oneOf("daemon", filter.daemons),
    oneOf("feature", filter.features),
    compared("started_at <", end),
    compared("resolved_at IS NULL OR resolved_at >", start),
    oneOf("rule", rules),
    only(acknowledged !== null && `acknowledged_at IS ${acknowledged ? "NOT " : ""}NULL`),
    only(state !== null && `resolved_at IS ${state === "firing" ? "" : "NOT "}NULL`),
  ]);
  const [count] = read.all<{ total: number }>(`SELECT count(*) AS total FROM alerts WHERE ${sql}`, ...values);
  const rows = read.all<ListedAlert>(
    `SELECT ${COLUMNS} FROM alerts WHERE ${sql} ORDER BY id DESC LIMIT ? OFFSET ?`,
    ...values,
    limit,
    offset,
  );
  return { rows, total: count?.total ?? 0 };
}
