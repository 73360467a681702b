import { DAY_MS } from "../../domain/time/clock.ts";
import { type DumpedRows, dumpedRows } from "./mysql-dump.ts";
import {
  copyOf,
  createSurvey,
  type OldCount,
  type OldMonitor,
  OldMonitorError,
  type OldSeries,
  wallOf,
} from "./old-monitor.ts";

/**
 * Every table and column of phpLicenseWatcher's database: of its schema since December 2020 (`usage`, with and without
 * `events`), and of that of versions 0.9 to 2.0 (`license_usage`). Source: database/ and the history of
 * https://github.com/phpLicenseWatcher/phpLicenseWatcher.
 */
const TABLES: Readonly<Record<string, string>> = {
  servers:
    "id name label is_active lm_default_usage_reporting status license_manager version lmgrd_version last_updated",
  features: "id name label show_in_lists is_tracked",
  licenses: "id server_id feature_id",
  usage: "license_id time num_users",
  available: "license_id date num_licenses",
  events: "license_id time user type reason",
  license_usage: "flmusage_server flmusage_product flmusage_date flmusage_time flmusage_users",
  licenses_available: "flmavailable_date flmavailable_server flmavailable_product flmavailable_num_licenses",
  flexlm_events: "flmevent_date flmevent_time flmevent_type flmevent_feature flmevent_user flmevent_reason",
  server: "id name alias",
  feature: "featureID feature showInLists label",
  server_status:
    "server_id server_dns server_port label status lm_hostname isMaster lmgrd_version last_updated",
};

/** A dump, which is read twice. */
interface Dump {
  readonly name: string;
  pieces(onRead?: (bytes: number) => void): AsyncIterable<Uint8Array>;
}

/** So many seats on each of the days [from, to]; null = the day has two answers. */
interface Run {
  readonly from: number;
  to: number;
  readonly total: number | null;
}

/**
 * Reads a dump of phpLicenseWatcher's database but for the counts, which `counts` reads. Throws OldMonitorError on a
 * table or column that phpLicenseWatcher does not have, before anything is stored.
 */
export async function readPhpLicenseWatcher(
  dump: Dump,
  onRead: (bytes: number) => void,
): Promise<OldMonitor> {
  const survey = createSurvey(dump.name);
  const totals = new Map<string, Run[]>();
  const tables = new Set<string>();
  /** Rows of the small tables, by id. */
  const small = new Map(["servers", "features", "licenses"].map((table) => [table, new Map<string, Row>()]));
  let events = 0;
  for await (const { table, columns, rows } of dumpedRows(dump.pieces(onRead), dump.name)) {
    checkTable(dump.name, table, columns);
    tables.add(table);
    if (table === "events" || table === "flexlm_events") events += rows.length;
    for (const count of countsOf(table, columns, rows)) survey.see(count.key, count.server, count);
    if (table === "available" || table === "licenses_available")
      for (const values of rows) addTotal(totals, rowOf(columns, values));
    for (const values of small.has(table) ? rows : []) {
      const row = rowOf(
        columns,
        values.map((value) => value && copyOf(value)),
      );
      small.get(table)?.set(row.id ?? "", row);
    }
  }
  if (tables.has("usage") === tables.has("license_usage"))
    throw new OldMonitorError(
      tables.has("usage")
        ? `${dump.name} has usage and license_usage, tables of two versions: dump one database`
        : `${dump.name} has neither usage nor license_usage: it is no dump of phpLicenseWatcher's database`,
    );

  const nameOf = (key: string) => {
    const [server, feature] = key.split("\0");
    if (feature !== undefined) return { server: server ?? "", feature, counts: null };
    const { server_id = "", feature_id = "" } = small.get("licenses")?.get(key) ?? {};
    const of = small.get("servers")?.get(server_id ?? "");
    const named = small.get("features")?.get(feature_id ?? "")?.name;
    if (of?.name == null || named == null)
      throw new OldMonitorError(`${dump.name} has counts of license ${key}, and not its server or feature`);
    return { server: of.name, feature: named, counts: of.lm_default_usage_reporting ?? null };
  };
  const series = new Map<string, OldSeries>();
  const withoutReserved = new Set<string>();
  for (const [key, { most }] of survey.seen) {
    const { server, feature, counts } = nameOf(key);
    const runs = totals.get(key) ?? [];
    if (counts === "0") withoutReserved.add(server);
    const problem =
      most === 0 && runs.length === 0
        ? "that was uncounted or never used, both of which it stores as 0"
        : null;
    series.set(key, { server, feature, daemon: null, problem, totalOn: (day) => totalOf(runs, day) });
  }
  const notes = [...withoutReserved].map(
    (server) =>
      `${server} was counted without reservations (lm_default_usage_reporting = 0): where seats are reserved, more were in use`,
  );
  if (events > 0)
    notes.push(
      `events are left out, ${events} in number: the debug logs tell more (licmond import --server ID FILE…)`,
    );
  // The distance of readings is known by license there, because servers may stand behind them in the dump.
  const keysOf = Map.groupBy(series.keys(), (key) => series.get(key)?.server ?? "");
  return {
    series,
    notes,
    intervalOf(server) {
      if (!tables.has("usage")) return survey.intervalOf(server);
      const rowsOf = (key: string) => survey.seen.get(key)?.rows ?? 0;
      return survey.intervalOf(keysOf.get(server)?.toSorted((a, b) => rowsOf(b) - rowsOf(a))[0] ?? "");
    },
    async *counts(onRead) {
      for await (const { table, columns, rows } of dumpedRows(dump.pieces(onRead), dump.name))
        yield countsOf(table, columns, rows);
    },
  };
}

type Row = Readonly<Record<string, string | null>>;

function rowOf(columns: readonly string[], values: readonly (string | null)[]): Row {
  return Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null]));
}

function checkTable(name: string, table: string, columns: readonly string[]): void {
  const known = Object.hasOwn(TABLES, table) ? TABLES[table]?.split(" ") : undefined;
  if (known === undefined)
    throw new OldMonitorError(
      `${name} has the table ${table}, which phpLicenseWatcher does not have: dump its database alone`,
    );
  const strange = columns.find((column) => !known.includes(column));
  if (strange !== undefined)
    throw new OldMonitorError(`${name} has the column ${table}.${strange}, which no known version has`);
  // The names of servers' columns changed, and one came; counts need all of theirs.
  const missing = table === "servers" ? undefined : known.find((column) => !columns.includes(column));
  if (missing !== undefined && !OPTIONAL.includes(missing))
    throw new OldMonitorError(`${name} lacks the column ${table}.${missing}, which every known version has`);
}

/** Columns of tables of which nothing is taken but what stands in others. */
const OPTIONAL = "label show_in_lists is_tracked showInLists alias isMaster lm_hostname lmgrd_version".split(
  " ",
);

/** The counts among the rows of a table. `server`: by what the distances of readings are told apart. */
function countsOf(table: string, columns: readonly string[], rows: DumpedRows["rows"]) {
  if (table !== "usage" && table !== "license_usage") return [];
  const place = (column: string) => columns.indexOf(column);
  const [license, datetime, users] = [place("license_id"), place("time"), place("num_users")];
  const [server = -1, product = -1, date = -1, time = -1, used = -1] =
    TABLES.license_usage?.split(" ").map(place) ?? [];
  return rows.map((row): OldCount & { server: string } => {
    const count = row[table === "usage" ? users : used] ?? Number.NaN;
    if (table === "license_usage") {
      const of = row[server] ?? "";
      const wall = wallOf(row[date] ?? "", row[time] ?? "");
      return { key: `${of}\0${row[product]}`, server: of, wall, used: Number(count) };
    }
    const [key, at] = [row[license] ?? "", row[datetime] ?? ""];
    return { key, server: key, wall: wallOf(at.slice(0, 10), at.slice(11)), used: Number(count) };
  });
}

function addTotal(totals: Map<string, Run[]>, row: Row): void {
  const key = row.license_id ?? `${row.flmavailable_server}\0${row.flmavailable_product}`;
  const day = Date.parse(`${row.date ?? row.flmavailable_date}T00:00Z`) / DAY_MS;
  const total = Number(row.num_licenses ?? row.flmavailable_num_licenses ?? Number.NaN);
  if (!Number.isInteger(day) || !Number.isInteger(total)) return;
  const runs = totals.get(key) ?? [];
  if (runs.length === 0) totals.set(copyOf(key), runs);
  const last = runs.at(-1);
  if (last !== undefined && last.to === day && last.total !== total) {
    if (last.from === day) runs.pop();
    else last.to--;
    runs.push({ from: day, to: day, total: null });
  } else if (last !== undefined && last.total === total && last.to === day - 1) last.to = day;
  else if (last === undefined || last.to < day) runs.push({ from: day, to: day, total });
}

function totalOf(runs: readonly Run[], day: number): number | null {
  return runs.findLast(({ from, to }) => day >= from && day <= to)?.total ?? null;
}
