import type { TransactionSQL } from "bun";
import type { Day, Fact, State } from "../../fleet/protocol.ts";
import type { Pseudonyms } from "../../http/anonymous/anonymous.ts";
import { isBadData } from "../database/connect.ts";
import { type Refused, refusedState } from "./batch.ts";
import { storeDays } from "./days.ts";
import { type Origin, storeFacts } from "./facts.ts";
import { storeStates } from "./states.ts";

const REASON = "refused by the hub's database";

/** Stores facts in order. Returns those that PostgreSQL refuses. */
export async function storeOrRefuseFacts(
  tx: TransactionSQL,
  origin: Origin,
  facts: readonly Fact[],
  now: number,
): Promise<Refused[]> {
  const bad = await storeOrRefuse(tx, facts, (inner, some) => storeFacts(inner, origin, some, now));
  return bad.map((fact) => ({ seq: fact.seq, reason: REASON, fact }));
}

/**
 * Stores days in order. Returns those that PostgreSQL refuses; former rows of their table and day are deleted
 * anyway.
 */
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

/**
 * Stores states. Returns those that PostgreSQL refuses, and the servers whose complete pictures are needed.
 */
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
 * Stores items in a savepoint. If PostgreSQL refuses them, retries each half, down to single items, and
 * returns the refused ones.
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
