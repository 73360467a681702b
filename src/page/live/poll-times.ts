import { effect } from "@preact/signals";
import { site } from "./live.ts";

export type PollTime = Readonly<{ at: number; ms: number }>;

const MOST = 120;
const polls = new Map<string, PollTime[]>();

/**
 * Returns the polls of a server since the page was opened, oldest first. licmond stores no durations of
 * polls.
 */
export const pollTimes = (server: string): readonly PollTime[] => polls.get(server) ?? [];

effect(() => {
  for (const { id, lastPollAt, pollDurationMs } of site.value?.values() ?? []) {
    if (lastPollAt === null || pollDurationMs === null) continue;
    const known = polls.getOrInsertComputed(id, () => []);
    const at = Date.parse(lastPollAt);
    if (known.at(-1)?.at === at) continue;
    known.push({ at, ms: pollDurationMs });
    if (known.length > MOST) known.shift();
  }
});
