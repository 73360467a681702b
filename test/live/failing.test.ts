import { afterEach, expect, test } from "bun:test";
import fc from "fast-check";
import type { Session } from "../../src/domain/session.ts";
import { holdingOf } from "../../src/domain/stats/held-seats.ts";
import { createHistory } from "../../src/history/history.ts";
import { createReader } from "../../src/history/reader.ts";
import { createBus, createIds, type Published } from "../../src/live/bus.ts";

import { createLive } from "../../src/live/live.ts";
import { createEvents } from "../../src/store/events.ts";
import * as a from "../domain/make.ts";
import { cleanUp, fixedClock, open, quickDirectory } from "../store/place.ts";
import { recordingLog } from "../store/recording-log.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const SEATS = 3;
const EDA = a.server();

/** A poll that succeeds, and the writes that fail while it is stored. */
interface Step {
  readonly users: readonly string[];
  readonly minutes: number;
  /** With `commit`, the transaction of the poll fails; with `store`, every write fails. */
  readonly fails: "nothing" | "commit" | "store";
  readonly restarts: boolean;
}

const STEP: fc.Arbitrary<Step> = fc.record({
  users: fc.subarray(["ann", "bob", "cy", "dan", "eve"], { maxLength: SEATS }),
  minutes: fc.integer({ min: 1, max: 4 }),
  fails: fc.constantFrom("nothing", "nothing", "commit", "store"),
  restarts: fc.constantFrom(false, false, false, true),
});

/** The daemon's bus, recorder and pictures over a store that fails on demand. */
function site() {
  const store = open(quickDirectory());
  const clock = fixedClock(a.NOON);
  const log = recordingLog();
  const told: Published["event"][] = [];
  let failsCommits = false;
  const process = () => {
    const events = createEvents(store);
    const bus = createBus({
      ids: createIds({ clock, start: events.highestReserved(), reserve: () => {}, onAhead: () => {} }),
      sink: {
        ...events,
        transaction(work) {
          events.transaction(() => {
            work();
            if (failsCommits) throw new Error("disk full");
          });
        },
      },
      timers: {
        after(_, run) {
          const timer = setImmediate(run);
          return () => clearImmediate(timer);
        },
      },
      onStore: () => {},
    });
    bus.subscribe((batch) => told.push(...batch.map(({ event }) => event)));
    const { recorder } = createHistory({ store, clock, log, timers: { after: () => () => {} } });
    const live = createLive({
      store,
      recorder,
      clock,
      log,
      servers: [EDA],
      commit: bus.commit,
      timers: { after: () => () => {} },
    });
    return live;
  };
  let live = process();
  /** Start of each checkout, as the tool prints it. */
  let held = new Map<string, number>();
  const sessions = () =>
    store.sqlite
      .query<Session, []>(
        `SELECT id, user, count, started_at AS startedAt, began_at AS beganAt, first_seen_at AS firstSeenAt,
           last_seen_at AS lastSeenAt, ended_at AS endedAt, end_reason AS endReason FROM sessions ORDER BY id`,
      )
      .all();
  return {
    store,
    clock,
    told,
    async poll({ users, minutes, fails, restarts }: Step) {
      if (restarts) live = process();
      clock.advance(minutes * MINUTE);
      const at = clock.time;
      held = new Map(users.map((user) => [user, held.get(user) ?? at - MINUTE]));
      const checkouts = [...held].map(([user, startedAt]) => a.checkout({ user, handle: user, startedAt }));
      const features = [a.feature({ total: SEATS, used: checkouts.length, checkouts })];
      failsCommits = fails === "commit";
      store.sqlite.run(`PRAGMA query_only = ${fails === "store" ? "ON" : "OFF"}`);
      await live.record(a.outcome({ startedAt: at, finishedAt: at, reading: a.reading({ features }) }), null);
      failsCommits = false;
      store.sqlite.run("PRAGMA query_only = OFF");
      const [picture] = live.snapshot().servers;
      // The picture is updated even if the store fails.
      const shown = picture?.features[0]?.checkouts ?? [];
      expect(shown.map(({ user }) => user)).toEqual([...users]);
      // The picture contains no session that could not be stored.
      const stored = new Map(sessions().map(({ id, user }) => [id, user]));
      const named = shown.flatMap(({ session, user }) => (session === undefined ? [] : [{ session, user }]));
      expect(named.filter(({ session, user }) => stored.get(session) !== user)).toEqual([]);
      if (fails === "nothing") expect(named.length).toBe(users.length);
    },
    sessions,
  };
}

test("stored seats match the stored readings, regardless of which commits fail", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { minLength: 1, maxLength: 14 }), async (steps) => {
      const at = site();
      const stored: { at: number; users: readonly string[] }[] = [];
      const last = { users: ["ann", "eve"], minutes: 1, fails: "nothing", restarts: false } as const;
      for (const step of [...steps, last]) {
        await at.poll(step);
        if (step.fails === "nothing") stored.push({ at: at.clock.time, users: step.users });
      }
      const sessions = at.sessions();
      for (const { at: time, users } of stored) {
        const seen = sessions.filter(
          ({ firstSeenAt, endedAt }) => firstSeenAt <= time && (endedAt === null || endedAt > time),
        );
        expect(seen.map(({ user }) => user).sort()).toEqual([...users].sort());
      }
      const times = new Set(stored.map((reading) => reading.at));
      const told = sessions.flatMap(({ firstSeenAt, lastSeenAt, endedAt }) => {
        return [firstSeenAt, lastSeenAt, endedAt ?? firstSeenAt];
      });
      expect(told.filter((time) => !times.has(time))).toEqual([]);

      const now = at.clock.time;
      const holdings = sessions.map((session) => holdingOf(session, now, now, EDA.intervalMs));
      for (const { from } of holdings) {
        const together = holdings.filter((other) => other.from <= from && from < other.to);
        expect(together.length).toBeLessThanOrEqual(SEATS);
      }

      // Each session has one checkout event, except those of the first reading. Each ended session has one
      // checkin event.
      const events = (type: "checkout" | "checkin") =>
        at.told.flatMap((event) => (event.type === type ? event.session : [])).sort((a, b) => a - b);
      const ids = (list: readonly Session[]) => list.map(({ id }) => id);
      const first = stored[0]?.at;
      expect(events("checkout")).toEqual(ids(sessions.filter(({ firstSeenAt }) => firstSeenAt !== first)));
      expect(events("checkin")).toEqual(ids(sessions.filter(({ endedAt }) => endedAt !== null)));

      // The counts match the readings.
      const reader = createReader(at.store.sqlite, { now: now + 1 });
      const [feature] = reader.features({ features: ["compiler"] });
      if (feature === undefined) throw new Error("no history");
      const { steps: counts } = reader.series(feature, a.NOON, now + 1);
      for (const { at: time, users } of stored)
        expect(counts.findLast((count) => count.at <= time)?.used).toBe(users.length);
      at.store.close();
    }),
    { numRuns: 150 },
  );
});
