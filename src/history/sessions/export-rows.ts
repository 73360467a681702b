import type { Database } from "bun:sqlite";
import { type TSchema, Type } from "@sinclair/typebox";
import { type Denial, DenialRecord, denialRecord } from "../../domain/denials.ts";
import { LogEvent } from "../../domain/events.ts";
import { SessionRecord } from "../../domain/history-records.ts";
import { nullable, Timestamp } from "../../domain/records.ts";
import type { Session } from "../../domain/session.ts";
import { type Asked, holdingsAt } from "../../domain/stats/held-seats.ts";
import { iso } from "../../domain/time/clock.ts";
import { allOf, type Condition, compared, oneOf, sessionCondition } from "../../store/conditions.ts";
import { DENIAL_COLUMNS } from "../../store/denial-queries.ts";
import { parseLine } from "../../store/log-words.ts";
import { createReader } from "../reader.ts";
import { sessionRecord } from "./session-list.ts";
import { SESSION_COLUMNS } from "./sessions.ts";

export const EXPORT_TABLES = ["sessions", "samples", "denials", "logs"] as const;
export type ExportTable = (typeof EXPORT_TABLES)[number];

export interface ExportQuery extends Asked {
  readonly start: number | null;
  readonly end: number | null;
  readonly servers: readonly string[] | null;
  readonly daemons: readonly string[] | null;
  readonly features: readonly string[] | null;
}

export interface Slice {
  readonly rows: readonly object[];
  readonly done: number;
}

export interface Export {
  readonly record: TSchema;
  /** Yields slices in time order, or by feature and time (samples). Each is read on demand. */
  slices(): Generator<Slice>;
}

const SLICE_ROWS = 5_000;
const SLICE_MS = 7 * 86_400_000;

const SampleRecord = Type.Object({
  server: Type.String(),
  daemon: Type.String(),
  feature: Type.String(),
  timestamp: Timestamp,
  total: nullable(Type.Integer()),
  used: nullable(Type.Integer({ description: "Null: unknown from here on" })),
  reserved: nullable(Type.Integer()),
  queued: nullable(Type.Integer()),
  unlimited: Type.Boolean(),
});

export function createExport(sqlite: Database, table: ExportTable, query: ExportQuery): Export {
  if (table === "samples") return { record: SampleRecord, slices: () => sampleSlices(sqlite, query) };
  const { start, end, servers } = query;
  const from = compared("at >=", start);
  const to = compared("at <", end);
  if (table === "logs") {
    const wanted = allOf([{ sql: "type = 'log'", values: [] }, oneOf("server", servers), from, to]);
    const eventOf = ({ body }: { readonly body: string }) => parseLine(body);
    return { record: LogEvent, slices: () => byId(sqlite, "events", "id, body", wanted, eventOf) };
  }
  const named = sessionCondition({ ...query, users: null, hosts: null });
  if (table === "denials") {
    const wanted = allOf([named, from, to]);
    const recordOf = ({ id: _, ...denial }: Denial & { readonly id: number }) => denialRecord(denial);
    return {
      record: DenialRecord,
      slices: () => byId(sqlite, "denials", `id, ${DENIAL_COLUMNS}`, wanted, recordOf),
    };
  }
  const held = holdingsAt(createReader(sqlite, query).lastReadings(), query);
  const recordOf = (session: Session) => sessionRecord(session, held);
  const ended = compared("ended_at IS NULL OR ended_at >", start);
  const wanted = allOf([named, compared("began_at <", end), ended]);
  return { record: SessionRecord, slices: () => byId(sqlite, "sessions", SESSION_COLUMNS, wanted, recordOf) };
}

function* byId<Row>(
  sqlite: Database,
  table: "sessions" | "denials" | "events",
  columns: string,
  wanted: Condition,
  recordOf: (row: Row) => object,
): Generator<Slice> {
  const ends = sqlite
    .query<{ first: number | null; last: number | null }, []>(
      `SELECT min(id) AS first, max(id) AS last FROM ${table}`,
    )
    .get();
  const [first, last] = [ends?.first ?? 0, ends?.last ?? 0];
  const next = sqlite.query<Row & { readonly id: number }, (string | number | null)[]>(
    `SELECT ${columns} FROM ${table} WHERE id > ? AND id <= ? AND ${wanted.sql} ORDER BY id LIMIT ${SLICE_ROWS}`,
  );
  for (let after = first - 1; after < last; ) {
    const rows = next.all(after, last, ...wanted.values);
    after = rows.length < SLICE_ROWS ? last : (rows.at(-1)?.id ?? last);
    yield { rows: rows.map(recordOf), done: last > first ? (after - first) / (last - first) : 1 };
  }
}

/** Yields counts where they changed, feature by feature; a gap is a row without counts. */
function* sampleSlices(sqlite: Database, query: ExportQuery): Generator<Slice> {
  // Make a reader for each slice, because a reader's caches are valid for one state of the database only.
  const reader = () => createReader(sqlite, { now: query.now });
  const read = reader();
  const start = query.start ?? read.reach().samplesFrom ?? query.now;
  const end = Math.min(query.end ?? query.now, query.now);
  const features = read.features(query);
  for (const [index, known] of features.entries()) {
    const { server, daemon, feature } = known;
    let before = "";
    for (let from = start; from < end; from += SLICE_MS) {
      const until = Math.min(from + SLICE_MS, end);
      const rows: object[] = [];
      for (const { at, ...counts } of reader().series(known, from, until).steps) {
        const what = JSON.stringify(counts);
        // Skip the first row of a slice if it repeats the last row of the previous slice.
        if (what === before || (before === "" && counts.used === null)) continue;
        before = what;
        rows.push({ server, daemon, feature, timestamp: iso(at), ...counts });
      }
      yield { rows, done: (index + (until - start) / (end - start)) / features.length };
    }
  }
}
