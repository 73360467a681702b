import { DAY_SCHEMAS, type Day, FACT_SCHEMAS, type Fact } from "../../fleet/protocol.ts";
import type { Pool, Sql } from "../database/connect.ts";
import { problemOf, type Refused, UNKNOWN_KIND } from "./batch.ts";
import { type Origin, writeRows, writtenRows } from "./facts.ts";

/** Maximum number per push and site. */
const AT_ONCE = 2_000;

/** Facts and days that an older hub set aside as unknown, and that this hub knows. */
export interface SetAside {
  readonly ids: readonly string[];
  readonly facts: readonly Fact[];
  readonly days: readonly Day[];
  /** Items that still cannot be stored. */
  readonly refused: readonly Refused[];
}

/**
 * Sets aside facts, days and states that cannot be stored, with their reasons. Unknown facts and days wait
 * for a newer hub. A state replaces its former record. Returns the new records.
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
  const before = await writtenRows<{ body: string }>(tx, FORGET, origin, states);
  const known = new Set(before.map(({ body }) => body));
  await writeRows(tx, REFUSED, origin, rows);
  return refused.filter((one) => !known.has(JSON.stringify(one.fact)));
}

const FORGET = `
  DELETE FROM refused USING json_to_recordset($3::text::json) AS r(body text)
  WHERE site = $1 AND $2::int IS NOT NULL AND refused.seq IS NULL AND refused.kind IS NULL
    AND refused.body = convert_to(r.body, 'UTF8')
  RETURNING r.body`;

const REFUSED = `
  INSERT INTO refused (site, epoch, seq, at, reason, kind, body)
  SELECT $1, $2, r.seq, r.now, r.reason, r.kind, convert_to(r.body, 'UTF8')
  FROM json_to_recordset($3::text::json) AS r(seq bigint, now bigint, reason text, kind text, body text)`;

/** Returns the items of a site's current epoch, oldest first. */
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

/** Removes items so that the same transaction can store them; returns false if another hub was first. */
export async function takeOut(tx: Sql, { ids }: SetAside): Promise<boolean> {
  if (ids.length === 0) return false;
  const taken = await tx`
    DELETE FROM refused WHERE id IN (SELECT json_array_elements_text(${JSON.stringify(ids)}::text::json)::bigint) RETURNING id`;
  return taken.length > 0;
}
