import { afterEach, expect, test } from "bun:test";
import fc from "fast-check";
import { createReader } from "../../../src/store/history/reader.ts";
import { createServers } from "../../../src/store/servers.ts";
import { sessionCounter } from "../../../src/store/statistics/people.ts";
import { sessionsQuery } from "../../../src/store/statistics/session-list.ts";
import { eachSession } from "../../../src/store/statistics/session-rows.ts";
import { monitored } from "../../http/make.ts";
import { cleanUp, open, temporaryDirectory } from "../place.ts";

afterEach(cleanUp);

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Hours, with many that are equal or lie a day apart: where the parts of a range meet. */
const hours = fc.oneof(fc.integer({ min: 0, max: 120 }), fc.constantFrom(0, 24, 25, 47, 48, 49, 72, 96));
const session = fc.record({
  began: hours,
  /** First seen so much later. */
  late: fc.constantFrom(0, 0, 0, 1, 30),
  lasted: fc.oneof(fc.constantFrom(0, 1, 23, 24, 25, 48, 72), fc.integer({ min: 0, max: 100 })),
  open: fc.integer({ min: 0, max: 9 }).map((roll) => roll === 0),
  feature: fc.constantFrom("solver", "mesher"),
});

test("sessions are found wherever a range lies, as by looking at each of them", () => {
  const store = open(temporaryDirectory());
  createServers({ store, clock: { now: () => 0 } }).configured([monitored("eda")]);
  const insert = store.sqlite.query<null, (string | number | null)[]>(
    `INSERT INTO sessions (id, server_id, daemon, feature, user, count, began_at, first_seen_at, last_seen_at, ended_at,
       end_reason) VALUES (?, 'eda', 'acmed', ?, 'ada', 1, ?, ?, ?, ?, 'checkin')`,
  );
  fc.assert(
    fc.property(
      fc.array(session, { maxLength: 40 }),
      fc.uniqueArray(hours, { minLength: 2, maxLength: 2 }),
      (list, edges) => {
        const [start = 0, end = 0] = edges.sort((a, b) => a - b).map((hour) => hour * HOUR);
        store.sqlite.run("DELETE FROM sessions");
        const plain = list.map(({ began, late, lasted, open: isOpen, feature }, id) => {
          const beganAt = began * HOUR;
          const seenAt = beganAt + Math.min(late, lasted) * HOUR;
          const endedAt = isOpen ? null : beganAt + lasted * HOUR;
          insert.run(id, feature, beganAt, seenAt, endedAt ?? seenAt, endedAt);
          return { id, feature, beganAt, endedAt };
        });
        const wanted = plain.filter(
          ({ beganAt, endedAt }) => beganAt < end && (endedAt === null || endedAt > start),
        );
        const ids = (rows: readonly { readonly id: number }[]) =>
          rows.map(({ id }) => id).sort((a, b) => a - b);
        const read = createReader(store.sqlite, { now: 300 * DAY });

        const { rows, total } = sessionsQuery(read, {
          ...{ now: 300 * DAY, intervals: {}, start, end, limit: 1000, offset: 0 },
          filter: { servers: null, daemons: null, features: null, users: null, hosts: null },
          sort: { field: "firstSeenAt", descending: true },
        });
        expect([total, ids(rows)]).toEqual([wanted.length, ids(wanted)]);
        const visited: number[] = [];
        eachSession(read, { sql: "TRUE", values: [] }, { start, end }, (one) =>
          visited.push((one as typeof one & { readonly id: number }).id),
        );
        expect(visited.sort((a, b) => a - b)).toEqual(ids(wanted));
        const count = sessionCounter(read, { start, end });
        for (const feature of ["solver", "mesher"]) {
          expect(count({ server: "eda", daemon: "acmed", feature })).toBe(
            wanted.filter((one) => one.feature === feature).length,
          );
        }
      },
    ),
    { numRuns: 300 },
  );
});

test("a long list of sessions is read on from where it was, not from its begin each time", () => {
  const store = open(temporaryDirectory());
  createServers({ store, clock: { now: () => 0 } }).configured([monitored("eda")]);
  const [start, end, count] = [1, 50 * HOUR, 30_500];
  store.sqlite.run(
    `WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ?)
     INSERT INTO sessions (id, server_id, daemon, feature, user, count, began_at, first_seen_at, last_seen_at, ended_at,
       end_reason) SELECT id, 'eda', 'acmed', 'solver', 'ada', 1, 0, 0, 0, ? + id / 7 * 1000, 'checkin' FROM n`,
    [count, 2 * HOUR],
  );
  const reader = createReader(store.sqlite, { now: 300 * DAY });
  const bound: (string | number | null)[][] = [];
  const read = {
    ...reader,
    all<Row>(sql: string, ...values: (string | number | null)[]): Row[] {
      bound.push(values);
      return reader.all<Row>(sql, ...values);
    },
  };
  const visited = new Set<number>();
  let visits = 0;
  eachSession(read, { sql: "TRUE", values: [] }, { start, end }, (one) => {
    visits++;
    visited.add((one as typeof one & { readonly id: number }).id);
  });
  expect([visits, visited.size]).toEqual([count, count]);
  expect(bound.filter((values) => values.includes(start)).length).toBe(1);
});
