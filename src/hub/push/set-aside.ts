import type { TransactionSQL } from "bun";
import { DAY_SCHEMAS, type Day, FACT_SCHEMAS, type Fact, type State } from "../../fleet/protocol.ts";
import type { Pseudonyms } from "../../http/anonymous/anonymous.ts";
import { isBadData, type Pool, type Sql } from "../database/connect.ts";
import { problemOf, type Refused, refusedState, UNKNOWN_KIND } from "./batch.ts";
import { storeDays } from "./days.ts";
import { type Origin, storeFacts, writeRows } from "./facts.ts";
import { storeStates } from "./states.ts";

const AT_ONCE = 2_000;

/** Facts and days that an older hub did not know, and this one does. */
export interface SetAside {
  readonly ids: readonly string[];
  readonly facts: readonly Fact[];
  readonly days: readonly Day[];
  readonly refused: readonly Refused[];
}

/**
 * Sets aside data that cannot be stored. Unknown facts and days wait for a newer hub; a state replaces its
 * former record. Returns the new records.
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

/** Returns false if another hub was first. */
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

/** Stores days; returns refused ones, whose former rows are deleted anyway. */
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
 * Stores items in a savepoint. If PostgreSQL refuses them, retries each half down to single items. Returns
 * the refused ones.
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
