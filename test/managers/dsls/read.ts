import type { Reading } from "../../../src/domain/reading.ts";
import { outputsOf } from "../read-as.ts";

export const { parse, fixture } = outputsOf("dsls");

/** Summarizes each feature as `editor/feature`, used and total. */
export function summary({ features }: Reading): string[] {
  return features.map((f) => {
    const held = f.checkouts.reduce((sum, { count }) => sum + count, 0);
    const counts = `${f.used} of ${f.unlimited ? "unlimited" : f.total} ${f.unit ?? "seats"}`;
    const people = f.assigned === undefined ? "" : ` assigned ${f.assigned.length}`;
    const waiting = f.queue.length === 0 ? "" : ` queued ${f.queue.length}`;
    return `${f.daemon}/${f.name} ${counts} pools ${f.pools.length} held ${held}${people}${waiting} ${f.consistency}`;
  });
}

/** Replaces a part of a fixture. Throws if the fixture does not have it. */
export function changed(name: string, from: string | RegExp, to: string): string {
  const text = fixture(name);
  const other = text.replace(from, to);
  if (other === text) throw new Error(`${name} has no ${from}`);
  return other;
}
