import { afterEach, expect, test } from "bun:test";
import fc from "fast-check";
import type { HeldSession } from "../../../src/domain/stats/held-seats.ts";
import { createReader } from "../../../src/history/reader.ts";
import { sessionsQuery } from "../../../src/history/sessions/session-list.ts";
import { createServers } from "../../../src/store/servers.ts";
import { monitored } from "../../http/make.ts";
import { cleanUp, open, temporaryDirectory } from "../../store/place.ts";
import { questionOver, sessionPutter } from "../rig.ts";

afterEach(cleanUp);

import { HOUR_MS } from "../../../src/domain/time/clock.ts";

const DAY = 24 * HOUR_MS;

/** Hours that are often equal or a day apart, where the parts of a range meet. */
const hours = fc.oneof(fc.integer({ min: 0, max: 120 }), fc.constantFrom(0, 24, 25, 47, 48, 49, 72, 96));
const session = fc.record({
  began: hours,
  /** Hours from the start to the first reading. */
  late: fc.constantFrom(0, 0, 0, 1, 30),
  lasted: fc.oneof(fc.constantFrom(0, 1, 23, 24, 25, 48, 72), fc.integer({ min: 0, max: 100 })),
  open: fc.integer({ min: 0, max: 9 }).map((roll) => roll === 0),
  feature: fc.constantFrom("solver", "mesher"),
});

test("finds the sessions that overlap a range, as a plain loop does", async () => {
  const store = open(temporaryDirectory());
  createServers({ store, clock: { now: () => 0 } }).configured([monitored("eda")]);
  const put = sessionPutter(store);
  await fc.assert(
    fc.asyncProperty(
      fc.array(session, { maxLength: 40 }),
      fc.uniqueArray(hours, { minLength: 2, maxLength: 2 }),
      async (list, edges) => {
        const [start = 0, end = 0] = edges.sort((a, b) => a - b).map((hour) => hour * HOUR_MS);
        store.sqlite.run("DELETE FROM sessions");
        const plain = list.map(({ began, late, lasted, open: isOpen, feature }, id) => {
          const beganAt = began * HOUR_MS;
          const seenAt = beganAt + Math.min(late, lasted) * HOUR_MS;
          const endedAt = isOpen ? null : beganAt + lasted * HOUR_MS;
          put(id, beganAt, seenAt, endedAt, { feature });
          return { id, feature, beganAt, seenAt, endedAt };
        });
        const wanted = plain.filter(
          ({ beganAt, endedAt }) => beganAt < end && (endedAt === null || endedAt > start),
        );
        const ids = (rows: readonly { readonly id: number }[]) =>
          rows.map(({ id }) => id).sort((a, b) => a - b);
        const read = createReader(store.sqlite, { now: 300 * DAY });

        const sort = { field: "firstSeenAt", descending: true } as const;
        const { rows, total } = await sessionsQuery(read, questionOver(start, end, 300 * DAY, { sort }));
        expect([total, ids(rows)]).toEqual([wanted.length, ids(wanted)]);
        // Seats are held from the first reading on.
        const held = wanted.filter(({ seenAt }) => seenAt < end);
        const lasting = new Set(ids(held));
        const visited = visitedBy(read.sessions(start, end, null));
        expect(visited.length).toBe(new Set(visited).size);
        expect(visited.filter((id) => lasting.has(id)).sort((x, y) => x - y)).toEqual(ids(held));
        for (const feature of ["solver", "mesher"]) {
          const one = { server: "eda", daemon: "acmed", feature };
          const own = held.filter((session) => session.feature === feature);
          const seenIn = (rows: readonly { readonly firstSeenAt: number }[]) =>
            rows.map(({ firstSeenAt }) => firstSeenAt).sort((x, y) => x - y);
          const found = read.featureSessions(one, start, end).filter(({ firstSeenAt }) => firstSeenAt < end);
          expect(seenIn(found)).toEqual(
            expect.arrayContaining(seenIn(own.map(({ seenAt }) => ({ firstSeenAt: seenAt })))),
          );
          expect(read.sessionCount(one, start, end)).toBe(
            wanted.filter((session) => session.feature === feature).length,
          );
        }
      },
    ),
    { numRuns: 300 },
  );
});

function visitedBy(sessions: readonly HeldSession[]): number[] {
  return sessions.map((one) => (one as HeldSession & { readonly id: number }).id);
}
