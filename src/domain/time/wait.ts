import type { QueuePicture } from "../picture.ts";
import type { QueueReading } from "../reading.ts";

/**
 * The queue as this reading has it, each entry with the time (epoch ms) at which it was first seen. An entry is the
 * same one as long as everything about it but its count stays; of equal ones the first has waited longest.
 */
export function withFirstSeen(
  now: readonly QueueReading[],
  before: readonly QueuePicture[],
  readAt: number,
): readonly QueuePicture[] {
  if (now.length === 0) return now;
  const seen = new Map<string, (number | undefined)[]>();
  for (const entry of before) {
    const key = entryKey(entry);
    const same = seen.get(key);
    if (same === undefined) seen.set(key, [entry.firstSeenAt]);
    else same.push(entry.firstSeenAt);
  }
  return now.map((entry) => ({ ...entry, firstSeenAt: seen.get(entryKey(entry))?.shift() ?? readAt }));
}

function entryKey({ user, host, display, version, handle }: QueueReading): string {
  return JSON.stringify([user, host?.toLowerCase(), display, version, handle]);
}
