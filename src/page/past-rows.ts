import type { DenialRecord } from "../domain/denials.ts";
import type { ExpirationRecord } from "../domain/records.ts";

/** Denials that have something in common, and how they came out. */
export interface DenialGroup extends Record<DenialRecord["outcome"], number> {
  readonly rows: readonly DenialRecord[];
  /** The newest one. */
  readonly first: DenialRecord;
}

/** Groups by a key, the most denied first. A row without a feature is what a manager counted: it stands for `count`. */
export function grouped(denials: readonly DenialRecord[], key: (row: DenialRecord) => string): DenialGroup[] {
  const groups = [...Map.groupBy(denials, key).values()].map((rows) => {
    const sums = { denied: 0, queued: 0, granted_later: 0 };
    for (const { outcome, feature, count } of rows) sums[outcome] += feature === null ? count : 1;
    return { ...sums, rows, first: rows[0] as DenialRecord };
  });
  return groups.sort((a, b) => b.denied - a.denied || b.rows.length - a.rows.length);
}

/** What expires on one day of one server: licenses of one file end together. */
export interface ExpiryGroup {
  readonly server: string;
  readonly on: string;
  readonly daysLeft: number;
  readonly rows: readonly ExpirationRecord[];
}

/** By month (`2026-12`; `""` = expired), in the order of time. */
export function byMonth(rows: readonly ExpirationRecord[]): [month: string, groups: ExpiryGroup[]][] {
  const dated = rows.filter(({ expiresOn }) => expiresOn !== null);
  const groups = [...Map.groupBy(dated, ({ expiresOn, server }) => `${expiresOn} ${server}`).values()].map(
    (rows): ExpiryGroup => {
      const { server = "", expiresOn, daysLeft } = rows[0] ?? {};
      return { server, on: expiresOn ?? "", daysLeft: daysLeft ?? 0, rows };
    },
  );
  const ordered = groups.sort((a, b) => (a.on === b.on ? 0 : a.on < b.on ? -1 : 1));
  return [...Map.groupBy(ordered, ({ on, daysLeft }) => (daysLeft < 0 ? "" : on.slice(0, 7)))];
}
