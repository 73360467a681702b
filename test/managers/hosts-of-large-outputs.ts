/** Prints the heap size of 100 hosts and their sessions, which were sliced from outputs of 1 MB each. */
import { heapStats } from "bun:jsc";
import { applyPoll } from "../../src/domain/polls/apply-poll.ts";
import { NO_TRACKING, trackSessions } from "../../src/domain/polls/track-sessions.ts";
import type { Session } from "../../src/domain/session.ts";
import { createKnownHosts } from "../../src/managers/manager.ts";
import { checkout, feature, outcome, reading, server } from "../domain/make.ts";

const hosts = createKnownHosts();
const sessions: Session[] = [];
const shown: unknown[] = [];
Bun.gc(true);
const before = heapStats().heapSize;
for (let index = 0; index < 100; index++) learnFrom(`${"x ".repeat(500_000)}${nameOf(index)} `, index);
const kept = hosts.has(nameOf(99)) && sessions.length === 100 && shown.length === 100;
Bun.gc(true);
const bytes = heapStats().heapSize - before;
console.log(JSON.stringify({ kept, bytes }));

function learnFrom(output: string, id: number): void {
  const host = output.slice(output.lastIndexOf(" ", output.length - 2) + 1, -1);
  hosts.add(host);
  const held = feature({ used: 1, checkouts: [checkout({ host })] });
  const picture = applyPoll(null, server(), outcome({ reading: reading({ features: [held] }) }), null);
  const { value } = trackSessions(NO_TRACKING, picture, () => [id]).next();
  sessions.push(...(value?.changes.opened ?? []));
  shown.push(value?.picture);
}

/** Long enough that the engine does not copy the slice by itself. */
function nameOf(index: number): string {
  return `workstation-${index}.engineering.example.com`;
}
