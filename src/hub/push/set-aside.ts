import type { TransactionSQL } from "bun";
import { DAY_MS } from "../../domain/time/clock.ts";
import { DAY_SCHEMAS, type Day, FACT_SCHEMAS, type Fact, type State } from "../../fleet/protocol.ts";
import type { Pseudonyms } from "../../http/anonymous/anonymous.ts";
import { isBadData, type Pool, type Sql } from "../database/connect.ts";
import { problemOf, type Refused, refusedState, UNKNOWN_KIND } from "./batch.ts";
import {
  noteFeatures,
  type Origin,
  storeAlerts,
  storeCoverage,
  storeDenials,
  storeFacts,
  storeSessions,
  storeStatuses,
  upsert,
  writeRows,
} from "./facts.ts";
import { storeStates } from "./states.ts";

/** Day of open sessions, and of everything that belongs to no day. */
const NO_DAY = -1;

/** Stores days. Part 0 first deletes all rows of its table and day. */
async function storeDays(tx: Sql, origin: Origin, days: readonly Day[]): Promise<void> {
  for (const day of days) {
    if (day.part === 0) await clear(tx, origin, day);
    await fill(tx, origin, day);
  }
}

/** Tables whose rows belong to the day of a time: the hub's table and the column with this time. */
const DAY_OF = {
  sessions: ["sessions", "ended_at"],
  denials: ["denials", "at"],
  coverage: ["coverage", "from_at"],
  statuses: ["statuses", "from_at"],
  alerts: ["alerts", "started_at"],
  samples: ["steps", "at"],
} as const;

async function clear(tx: Sql, { site }: Origin, { table, day }: Day): Promise<void> {
  if (table === "users") return tx`DELETE FROM history_users WHERE site = ${site}`;
  if (table === "sessions" && day === NO_DAY) return tx`DELETE FROM open_sessions WHERE site = ${site}`;
  if (table in DAY_OF) {
    const [name, time] = DAY_OF[table as keyof typeof DAY_OF];
    const more = table === "alerts" ? "AND site_id IS NOT NULL" : "";
    const range = [site, day * DAY_MS, (day + 1) * DAY_MS];
    await tx.unsafe(`DELETE FROM ${name} WHERE site = $1 AND ${time} >= $2 AND ${time} < $3 ${more}`, range);
  }
  if (table === "samples" || !(table in DAY_OF))
    await tx`DELETE FROM packed_days WHERE site = ${site} AND kind = ${table} AND day = ${day}`;
}

function fill(tx: Sql, origin: Origin, day: Day): Promise<unknown> {
  switch (day.table) {
    case "sessions":
      return storeSessions(tx, origin, day.rows);
    case "denials":
      return storeDenials(tx, origin, day.rows);
    case "coverage":
      return storeCoverage(tx, origin, day.rows);
    case "statuses":
      return storeStatuses(tx, origin, day.rows);
    case "alerts":
      return storeAlerts(tx, origin, day.rows);
    case "users":
      return writeRows(tx, USERS, origin, day.rows);
    case "held": {
      const rows = day.rows.map((row) => ({ ...row, day: day.day }));
      return writeRows(tx, HELD, origin, rows);
    }
    default: {
      const rows = day.rows.map((row) => ({ ...row, kind: day.table, day: day.day }));
      return noteFeatures(tx, origin, day.rows).then(() => writeRows(tx, PACKED, origin, rows));
    }
  }
}

const USERS = upsert("history_users", "site, id", "id bigint, name text");

const HELD = `
  INSERT INTO packed_days (site, kind, day, feature_id, data)
  SELECT $1, 'held', r.day, 0, decode(r.data, 'base64')
  FROM json_to_recordset($2::text::json) AS r(day integer, data text) ON CONFLICT (site, kind, day, feature_id) DO UPDATE SET data = excluded.data`;

const PACKED = `
  INSERT INTO packed_days (site, kind, day, feature_id, data)
  SELECT $1, r.kind, r.day, f.id, decode(r.data, 'base64')
  FROM json_to_recordset($2::text::json)
    AS r(server text, daemon text, feature text, kind text, day integer, data text)
  JOIN history_features f ON f.site = $1 AND f.server = r.server AND f.daemon = r.daemon AND f.name = r.feature
  ON CONFLICT (site, kind, day, feature_id) DO UPDATE SET data = excluded.data`;

const AT_ONCE = 2_000;

/** Facts and days that were set aside because an older hub did not know them, and that this hub knows. */
export interface SetAside {
  readonly ids: readonly string[];
  readonly facts: readonly Fact[];
  readonly days: readonly Day[];
  readonly refused: readonly Refused[];
}

/**
 * Sets aside data that cannot be stored. Unknown facts and days wait for a newer hub. A refused state
 * replaces the former record of the same state. Returns the new records.
 */
export async function setAside(
  tx: Sql,
  origin: Origin,
  refused: readonly Refused[],
  now: number,
): Promise<readonly Refused[]> {
  if (refused.length === 0) return [];
  const rows = refused.map(({ seq, reason, fact }) => {
    const { kind, table } = fact as { readonly kind?: string; readonly table?: string };
    const waits = reason === UNKNOWN_KIND ? (kind ?? table ?? null) : null;
    return { seq, now, reason, kind: waits, body: JSON.stringify(fact) };
  });
  const isState = ({ fact }: Refused) => "state" in fact;
  const states = rows.filter((_, index) => isState(refused[index] as Refused));
  const before = await writeRows<{ body: string }>(tx, FORGET, origin, states);
  const known = new Set(before.map(({ body }) => body));
  await writeRows(tx, REFUSED, origin, rows);
  return refused.filter((one) => !known.has(JSON.stringify(one.fact)));
}

const FORGET = `
  DELETE FROM refused USING json_to_recordset($2::text::json) AS r(body text)
  WHERE site = $1 AND refused.seq IS NULL AND refused.kind IS NULL
    AND refused.body = convert_to(r.body, 'UTF8')
  RETURNING r.body`;

const REFUSED = `
  INSERT INTO refused (site, epoch, seq, at, reason, kind, body)
  SELECT $1, $3, r.seq, r.now, r.reason, r.kind, convert_to(r.body, 'UTF8')
  FROM json_to_recordset($2::text::json) AS r(seq bigint, now bigint, reason text, kind text, body text)`;

export async function waitingOf(pool: Pool, site: string): Promise<SetAside> {
  const known = JSON.stringify([...Object.keys(FACT_SCHEMAS), ...Object.keys(DAY_SCHEMAS)]);
  const rows: { id: string; seq: string | null; body: Buffer }[] = await pool`
    SELECT r.id, r.seq, r.body FROM refused r JOIN sites t ON t.site = r.site AND t.epoch_no = r.epoch
    WHERE r.site = ${site} AND r.kind IS NOT NULL
      AND r.kind IN (SELECT json_array_elements_text(${known}::text::json))
    ORDER BY r.id LIMIT ${AT_ONCE}`;
  const facts: Fact[] = [];
  const days: Day[] = [];
  const refused: Refused[] = [];
  for (const { seq, body } of rows) {
    const fact = JSON.parse(body.toString());
    const isFact = seq !== null;
    const reason = isFact
      ? problemOf(FACT_SCHEMAS, fact.kind, fact)
      : problemOf(DAY_SCHEMAS, fact.table, fact);
    if (reason !== null) refused.push({ seq: isFact ? Number(seq) : null, reason, fact });
    else if (isFact) facts.push(fact);
    else days.push(fact);
  }
  return { ids: rows.map(({ id }) => id), facts, days, refused };
}

/** Removes rows from the data that was set aside. Returns false if another hub has removed them already. */
export async function takeOut(tx: Sql, { ids }: SetAside): Promise<boolean> {
  if (ids.length === 0) return false;
  const taken = await tx`
    DELETE FROM refused WHERE id IN (SELECT json_array_elements_text(${JSON.stringify(ids)}::text::json)::bigint) RETURNING id`;
  return taken.length > 0;
}

const REASON = "refused by the hub's database";

export async function storeOrRefuseFacts(
  tx: TransactionSQL,
  origin: Origin,
  facts: readonly Fact[],
  now: number,
): Promise<Refused[]> {
  const bad = await storeOrRefuse(tx, facts, (inner, some) => storeFacts(inner, origin, some, now));
  return bad.map((fact) => ({ seq: fact.seq, reason: REASON, fact }));
}

/** Stores days and returns those that PostgreSQL refused. Former rows of a refused day are deleted anyway. */
export async function storeOrRefuseDays(
  tx: TransactionSQL,
  origin: Origin,
  days: readonly Day[],
): Promise<Refused[]> {
  const bad = await storeOrRefuse(
    tx,
    days,
    (inner, some) => storeDays(inner, origin, some),
    (day) => storeDays(tx, origin, [{ ...day, rows: [] }]),
  );
  return bad.map((day) => ({ seq: null, reason: REASON, fact: day }));
}

export async function storeOrRefuseStates(
  tx: TransactionSQL,
  origin: Origin,
  states: readonly State[],
  now: number,
  pseudonyms: Pseudonyms,
) {
  const wanted: string[] = [];
  const bad = await storeOrRefuse(tx, states, async (inner, some) => {
    wanted.push(...(await storeStates(inner, origin, some, now, pseudonyms)));
  });
  const refused = bad.map((state) => refusedState(state, REASON));
  return { wanted: [...new Set(wanted)], refused };
}

/**
 * Stores items in a savepoint. If PostgreSQL refuses them, retries each half, down to single items. Returns
 * the refused items.
 */
async function storeOrRefuse<Item>(
  tx: TransactionSQL,
  items: readonly Item[],
  storeAll: (tx: TransactionSQL, items: readonly Item[]) => Promise<void>,
  onRefused: (item: Item) => Promise<void> = async () => {},
): Promise<Item[]> {
  if (items.length === 0) return [];
  try {
    await tx.savepoint((inner) => storeAll(inner, items));
    return [];
  } catch (error) {
    if (!isBadData(error)) throw error;
    const [first] = items;
    if (first !== undefined && items.length === 1) {
      await onRefused(first);
      return [first];
    }
    const half = items.length >> 1;
    return [
      ...(await storeOrRefuse(tx, items.slice(0, half), storeAll, onRefused)),
      ...(await storeOrRefuse(tx, items.slice(half), storeAll, onRefused)),
    ];
  }
}
