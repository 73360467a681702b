import { alertRecord, anonymousAlert } from "../domain/alerts.ts";
import type { Step } from "../domain/history.ts";
import { DAY_MS, HOUR_MS } from "../domain/time/clock.ts";
import { packedKey } from "../history/buckets.ts";
import { withHour } from "../history/codec.ts";
import { createAlerts } from "../store/alerts.ts";
import type { Store } from "../store/open/open.ts";
import {
  COVERAGE_ROW,
  coverageRow,
  DENIAL_ROW,
  denialRow,
  FEATURE_COLUMNS,
  featureRow,
  type NamedFeature,
  SESSION_ROW,
  STATUS_ROW,
  type StoredCoverage,
  type StoredDenial,
} from "./facts.ts";
import { type DueDay, NO_DAY } from "./outbox.ts";
import type { People } from "./people.ts";
import type { AlertRow, Day, DayTable, SessionRow, StatusRow } from "./protocol.ts";

const ROWS = 500;
const PART_CHARS = 200_000;

/**
 * Maximum size of a packed `held` row that is sent: about 100,000 sessions, or 0.93 MB in base64. A push
 * holds 1 MB.
 */
const MOST_HELD_BYTES = 700_000;

const base64 = (data: Uint8Array) => Buffer.from(data).toString("base64");

type DayOf<Table extends DayTable> = Extract<Day, { readonly table: Table }>;
type StoredStep = Omit<Step, "unlimited"> & { readonly unlimited: number };
interface PackedRow extends NamedFeature {
  readonly id: number;
  readonly data: Uint8Array | null;
}

export function createDayReader(store: Store, people: People) {
  const { sqlite, read } = store;
  const query = <Row, Values extends number[]>(sql: string) => {
    const statement = sqlite.query<Row, number[]>(sql);
    return (...values: Values): Row[] => read(() => statement.all(...values));
  };
  const ended = query<SessionRow, [number, number, number, number, number]>(
    `SELECT ${SESSION_ROW} FROM sessions WHERE ended_at >= ? AND ended_at < ? AND (ended_at, id) > (?, ?)
     ORDER BY ended_at, id LIMIT ?`,
  );
  const open = query<SessionRow, [number, number]>(
    `SELECT ${SESSION_ROW} FROM sessions WHERE ended_at IS NULL AND id > ? ORDER BY id LIMIT ?`,
  );
  const denials = query<StoredDenial, [number, number, number, number, number]>(
    `SELECT ${DENIAL_ROW} FROM denials WHERE at >= ? AND at < ? AND (at, id) > (?, ?) ORDER BY at, id LIMIT ?`,
  );
  const coverage = query<StoredCoverage, [number, number]>(
    `SELECT ${COVERAGE_ROW} FROM coverage WHERE from_at >= ? AND from_at < ?`,
  );
  const statuses = query<StatusRow, [number, number]>(
    `SELECT ${STATUS_ROW} FROM server_statuses WHERE from_at >= ? AND from_at < ?`,
  );
  const packed = query<PackedRow, [number, number, number]>(
    `SELECT feature.id, ${FEATURE_COLUMNS}, data FROM history_features AS feature
     LEFT JOIN packed_days ON key = ? + feature.id WHERE feature.id > ? ORDER BY feature.id LIMIT ?`,
  );
  const held = query<{ data: Uint8Array }, [number]>(
    `SELECT data FROM packed_days WHERE key = ?
       AND day * ${DAY_MS} NOT IN (SELECT at FROM dirty WHERE kind = 'held')`,
  );
  const hasLoose = query<object, [number, number]>("SELECT 1 FROM samples WHERE at >= ? AND at < ? LIMIT 1");
  const loose = query<StoredStep, [number, number, number]>(
    `SELECT at, total, used, reserved, queued, unlimited FROM samples WHERE feature_id = ? AND at >= ? AND at < ?
     ORDER BY at`,
  );
  const users = query<{ id: number; name: string }, [number, number]>(
    "SELECT id, name FROM history_users WHERE id > ? ORDER BY id LIMIT ?",
  );

  /**
   * Yields parts of a table, at least one. `pageAfter` reads the next page; rows for which `make` returns
   * null are left out.
   */
  function* table<Row, Table extends DayTable>(
    table: Table,
    day: number,
    pageAfter: (last: Row | null) => readonly Row[],
    make: (row: Row) => DayOf<Table>["rows"][number] | null,
    first = 0,
  ): Generator<DayOf<Table>> {
    let part = first;
    let rows: object[] = [];
    const made = () => ({ table, day, part, rows }) as DayOf<Table>;
    let chars = 0;
    for (let page = pageAfter(null); page.length > 0; page = pageAfter(page.at(-1) ?? null)) {
      for (const row of page) {
        const one = make(row);
        if (one === null) continue;
        rows.push(one);
        chars += JSON.stringify(one).length;
        if (chars < PART_CHARS) continue;
        yield made();
        part++;
        [rows, chars] = [[], 0];
      }
      if (page.length < ROWS) break;
    }
    if (rows.length > 0 || part === 0) yield made();
  }

  const atOnce =
    <Row>(rows: readonly Row[]) =>
    (last: Row | null) => {
      const from = last === null ? 0 : rows.indexOf(last) + 1;
      return rows.slice(from, from + ROWS);
    };

  /** Returns a feature's packed samples. `withLoose` adds the steps of hours that are not packed yet. */
  function samplesOf(day: number, { id, data }: PackedRow, withLoose: boolean): Uint8Array | null {
    const dayAt = day * DAY_MS;
    if (!withLoose) return data;
    const steps = loose(id, dayAt, dayAt + DAY_MS).map((row) => ({ ...row, unlimited: row.unlimited === 1 }));
    let all = data;
    for (const [hour, samples] of Map.groupBy(steps, ({ at }) => Math.floor((at - dayAt) / HOUR_MS)))
      all = withHour(dayAt, all, { hour, samples });
    return all;
  }

  function* packedTable(kind: "samples" | "hours" | "rollups", day: number): Generator<Day> {
    const withLoose = kind === "samples" && hasLoose(day * DAY_MS, (day + 1) * DAY_MS).length > 0;
    const page = (last: PackedRow | null) => packed(packedKey(kind, day), last?.id ?? 0, ROWS);
    const make = (row: PackedRow) => {
      const data = kind === "samples" ? samplesOf(day, row, withLoose) : row.data;
      if (data === null || data.length === 0) return null;
      const said =
        kind === "samples" ? data : people[kind === "hours" ? "hours" : "rollup"](day * DAY_MS, data);
      return { ...featureRow(row), data: base64(said) };
    };
    yield* table(kind, day, page, make);
  }

  /**
   * Returns the packed `held` row of a day. Leaves out a row that is too large; the hub then computes the
   * row from the day's sessions.
   */
  function heldOf(day: number): Day {
    const data = held(packedKey("held", day))[0]?.data ?? null;
    const said = data === null || data.length > MOST_HELD_BYTES ? null : people.sessionDay(data);
    return { table: "held", day, part: 0, rows: said === null ? [] : [{ data: base64(said) }] };
  }

  function* names(after: number): Generator<Day> {
    if (people.audience === "counts") return;
    const page = (last: { id: number } | null) => users(last?.id ?? after, ROWS);
    const make = ({ id, name }: { id: number; name: string }) => ({ id, name: people.user(name) });
    yield* table("users", NO_DAY, page, make, after === 0 ? 0 : 1);
  }

  function* rowsOf(day: number): Generator<Day> {
    const [from, until] = [day * DAY_MS, (day + 1) * DAY_MS];
    const endedAfter = (last: SessionRow | null) =>
      ended(from, until, last?.endedAt ?? from, last?.id ?? Number.MIN_SAFE_INTEGER, ROWS);
    yield* table("sessions", day, endedAfter, people.session);
    const denied = (last: StoredDenial | null) =>
      denials(from, until, last?.at ?? from, last?.id ?? Number.MIN_SAFE_INTEGER, ROWS);
    yield* table("denials", day, denied, (row) => people.denial(denialRow(row)));
    yield* table("coverage", day, atOnce(coverage(from, until)), coverageRow);
    yield* table("statuses", day, atOnce(statuses(from, until)), (row) => row);
    const alerts = createAlerts(store).startedIn(from, until);
    yield* table("alerts", day, atOnce(alerts), (alert) => alertRow(alert, people));
  }

  return {
    /** `usersSent` is the highest user number that the hub knows. */
    *parts({ day, whole }: Pick<DueDay, "day" | "whole">, usersSent: number): Generator<Day> {
      if (day === NO_DAY) {
        const openAfter = (last: SessionRow | null) => open(last?.id ?? Number.MIN_SAFE_INTEGER, ROWS);
        yield* table("sessions", day, openAfter, people.session);
        return;
      }
      yield* names(usersSent);
      if (whole) yield* rowsOf(day);
      for (const table of ["samples", "hours", "rollups"] as const) yield* packedTable(table, day);
      yield heldOf(day);
    },
  };
}

export function alertRow(alert: Parameters<typeof alertRecord>[0], people: People): AlertRow {
  const record = alertRecord(alert, alert.startedAt);
  const { durationSeconds: _, ...row } = people.audience === "names" ? record : anonymousAlert(record);
  return row;
}
