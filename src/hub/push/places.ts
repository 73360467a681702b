import { DAY_MS } from "../../domain/time/clock.ts";
import type { Day, Fact } from "../../fleet/protocol.ts";
import type { Partitioned } from "../database/partitions.ts";
import type { FirstDays } from "../retention.ts";

/** The parts of a push with rows for partitioned tables. */
interface Brought {
  readonly facts: readonly Fact[];
  readonly days: readonly Day[];
}

/** Returns the partitioned table that a fact or a day goes to, and its day there; null for other tables. */
function placeOf(item: Fact | Day): readonly [keyof FirstDays, number] | null {
  const dayOf = (at: number) => Math.floor(at / DAY_MS);
  if ("table" in item) {
    const { table, day } = item;
    // Open sessions have no day.
    if (day < 0) return null;
    if (table === "sessions" || table === "denials") return [table, day];
    return table === "samples" || table === "hours" || table === "rollups" ? ["packed_days", day] : null;
  }
  if (item.kind === "session" && item.endedAt !== null) return ["sessions", dayOf(item.endedAt)];
  if (item.kind === "denial") return ["denials", dayOf(item.at)];
  return item.kind === "step" ? ["steps", dayOf(item.at)] : null;
}

/** Returns the days for which partitions are needed. */
export function daysIn({ facts, days }: Brought): Partial<Record<Partitioned, Set<number>>> {
  const found: Partial<Record<Partitioned, Set<number>>> = {};
  for (const item of [...facts, ...days]) {
    const place = placeOf(item);
    if (place === null) continue;
    const [table, day] = place;
    found[table] ??= new Set();
    found[table].add(day);
  }
  return found;
}

/**
 * Removes rows that retention would delete within the hour: each past day would need a partition, and
 * thousands of partitions slow every query. A session that ended so long ago also removes its open row.
 */
export function withinRetention<B extends Brought>(brought: B, first: FirstDays): B {
  const isKept = (item: Fact | Day) => {
    const place = placeOf(item);
    return place === null || place[1] >= first[place[0]];
  };
  const facts = brought.facts.flatMap((fact): Fact[] => {
    if (isKept(fact)) return [fact];
    if (fact.kind !== "session") return [];
    return [{ kind: "gone", seq: fact.seq, row: { of: "session", id: fact.id } }];
  });
  return { ...brought, facts, days: brought.days.filter(isKept) };
}
