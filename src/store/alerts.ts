import type { Alert, AlertState, AlertSubject, Severity } from "../domain/alerts.ts";
import { allOf, compared, type Named, oneOf, type Rows } from "./conditions.ts";
import { alerts } from "./database/schema.ts";
import { tableOf } from "./database/table.ts";
import type { Store } from "./open/open.ts";

const STEP_ROWS = 500;

export type Alerts = ReturnType<typeof createAlerts>;

/**
 * Stores alerts and the evaluator's state between polls. Writes run in the caller's transaction on
 * state.db.
 */
export function createAlerts({ state }: Pick<Store, "state">) {
  const { sqlite, read } = state;
  const table = tableOf(alerts);
  const list = (condition: string) => {
    const select = sqlite.query<unknown, number[]>(
      `SELECT ${table.columns} FROM alerts WHERE ${condition} ORDER BY id`,
    );
    return (...values: number[]): Alert[] => read(() => select.all(...values)).map(table.row);
  };
  const firing = list("resolved_at IS NULL");
  const startedIn = list("started_at >= ? AND started_at < ?");
  const silencedPast = list("silenced_until > ? AND resolved_at IS NOT NULL");
  const byId = list("id = ?");
  const oldest = sqlite.query<{ at: number | null }, []>("SELECT min(started_at) AS at FROM alerts");
  const put = sqlite.query(`INSERT OR REPLACE ${table.into}`);
  const remove = sqlite.query<null, [number]>(
    `DELETE FROM alerts WHERE id IN
       (SELECT id FROM alerts WHERE resolved_at < ? ORDER BY resolved_at LIMIT ${STEP_ROWS})`,
  );
  const watches = createBodies(state, "alert_watches", "subject");
  const baselines = createBodies(state, "alert_baselines", "server");
  // Ids of deleted alerts are not reused.
  const given = sqlite.query<{ id: number }, []>(
    "SELECT seq AS id FROM sqlite_sequence WHERE name = 'alerts'",
  );
  let last = read(() => given.get())?.id ?? 0;

  return {
    nextId: () => ++last,
    firing: () => firing(),
    /** Returns alerts that began in [from, until), epoch ms. */
    startedIn: (from: number, until: number) => startedIn(from, until),
    oldest: () => read(() => oldest.get())?.at ?? null,
    get: (id: number): Alert | null => byId(id)[0] ?? null,
    /** Returns resolved alerts that are still silenced at `now`. */
    silencedPast: (now: number) => silencedPast(now),
    write: (alert: Alert): void => void put.run(table.values(alert)),
    watches: () =>
      watches.all().map(([subject, body]) => ({ subject: JSON.parse(subject) as AlertSubject, body })),
    /** Writes a watch; a null body deletes the watch. */
    writeWatch: ({ rule, server, daemon, feature, detail }: AlertSubject, body: string | null): void =>
      watches.put(JSON.stringify({ rule, server, daemon, feature, detail }), body),
    baselines: () => new Map(baselines.all()),
    writeBaseline: baselines.put,
    /** Deletes one step of alerts that ended before an instant and returns their number. */
    retainStep: (endedBefore: number): number => state.transaction(() => remove.run(endedBefore).changes),
  };
}

function createBodies({ sqlite, read }: Store["state"], table: string, key: string) {
  const all = sqlite.query<{ key: string; body: string }, []>(`SELECT ${key} AS key, body FROM ${table}`);
  const replace = sqlite.query<null, [string, string]>(`INSERT OR REPLACE INTO ${table} VALUES (?, ?)`);
  const remove = sqlite.query<null, [string]>(`DELETE FROM ${table} WHERE ${key} = ?`);
  return {
    all: () => read(() => all.all()).map(({ key, body }) => [key, body] as const),
    put: (key: string, body: string | null): void =>
      void (body === null ? remove.run(key) : replace.run(key, body)),
  };
}

/** In each field, null matches everything. */
export interface AlertFilter {
  readonly filter: Named;
  /** Period in epoch ms; matches alerts that began before `end` and were not resolved at `start`. */
  readonly start: number | null;
  readonly end: number | null;
  readonly severities: readonly Severity[] | null;
  readonly acknowledged: boolean | null;
  readonly state: AlertState | null;
  readonly rules: readonly string[] | null;
}

type ListedAlert = Omit<Alert, "detail" | "told">;

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
