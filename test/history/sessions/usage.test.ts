import { afterEach, expect, test } from "bun:test";
import fc from "fast-check";
import { type HeldSession, holdingsAt } from "../../../src/domain/stats/held-seats.ts";
import type { UsageKey } from "../../../src/domain/stats/usage.ts";
import { DAY_MS, HOUR_MS } from "../../../src/domain/time/clock.ts";
import { createReader } from "../../../src/history/reader.ts";
import { HELD_COLUMNS } from "../../../src/history/session-reader.ts";
import { peopleQuery, seenBefore } from "../../../src/history/sessions/people.ts";
import { heldHours, usageQuery } from "../../../src/history/statistics/usage.ts";
import { createServers } from "../../../src/store/servers.ts";
import { byKeys, createPlainUsage } from "../../domain/stats/plain-usage.ts";
import { monitored } from "../../http/make.ts";
import { cleanUp, fixedClock, open, temporaryDirectory } from "../../store/place.ts";
import { ANY, questionOver, sessionPutter } from "../rig.ts";
import { INTERVALS, makeDays } from "./rig.ts";

afterEach(cleanUp);

const SERVERS = ["eda", "cad"];
/** Periods in which servers were read, in hours. The first one has counts of another monitor. */
const READ: readonly (readonly [server: string, from: number, until: number, looks: number | null])[] = [
  ["eda", 0, 5, 0],
  ["eda", 10, 30, 20],
  ["eda", 40, 70, null],
  ["eda", 71, 200, 129],
  ["cad", 20, 48, 14],
  ["cad", 96, 120, 12],
];
const GAPS = {
  eda: [
    { from: 30 * HOUR_MS, to: 40 * HOUR_MS },
    { from: 70 * HOUR_MS, to: 71 * HOUR_MS },
    { from: 200 * HOUR_MS, to: Number.POSITIVE_INFINITY },
  ],
  cad: [
    { from: 48 * HOUR_MS, to: 96 * HOUR_MS },
    { from: 120 * HOUR_MS, to: Number.POSITIVE_INFINITY },
  ],
};

/** Hours since the first day began, often at midnight. */
const hours = fc.oneof(fc.integer({ min: 0, max: 150 }), fc.constantFrom(0, 24, 48, 72, 96, 120));
const session = fc.record({
  began: hours,
  lasted: fc.oneof(fc.constantFrom(0, 1, 24, 48, -2), fc.integer({ min: 0, max: 90 })),
  /** Hours from the start to the first reading. */
  late: fc.constantFrom(0, 0, 0, 1, 30),
  /** Hours between the last reading and the end. */
  unseen: fc.constantFrom(0, 0, 0, 1, 30),
  reason: fc.constantFrom("checkin", "checkin", "checkin", "unobserved", "server_restart", null),
  server: fc.constantFrom(...SERVERS),
  daemon: fc.constantFrom("acmed", "betad"),
  feature: fc.constantFrom("solver", 'mesher,"users":["'),
  user: fc.constantFrom("ada", '],"hosts":["', "ws01", "null", null),
  host: fc.constantFrom("ws01", "WS01", "ws02", null),
  count: fc.integer({ min: 1, max: 3 }),
});
const some = (names: readonly string[]) => fc.option(fc.subarray([...names]), { freq: 3 });
const question = fc.record({
  edges: fc.uniqueArray(hours, { minLength: 2, maxLength: 2 }),
  by: fc.uniqueArray(fc.constantFrom<UsageKey>("user", "host", "feature", "daemon", "server", "day"), {
    minLength: 1,
    maxLength: 2,
  }),
  timezone: fc.constantFrom("UTC", "Europe/Berlin", "Asia/Kolkata"),
  filter: fc.record({
    servers: some(SERVERS),
    daemons: some(["betad"]),
    features: some(["solver"]),
    users: some(["ada", '],"hosts":["', "nobody"]),
    hosts: some(["Ws01", "ws02"]),
  }),
});

test("usage and people agree with a plain loop over the sessions, whichever days are packed", async () => {
  const store = open(temporaryDirectory());
  createServers({ store, clock: { now: () => 0 } }).configured(SERVERS.map((id) => monitored(id)));
  for (const [server, from, until, looks] of READ)
    store.sqlite.run("INSERT INTO coverage VALUES (?1, ?2, ?3, ?3, 0, ?4)", [
      server,
      from * HOUR_MS,
      until * HOUR_MS,
      looks,
    ]);
  const putSession = sessionPutter(store);
  const put = ({ began, lasted, unseen, reason, late, ...names }: Rolled, id: number) => {
    const lastSeenAt = Math.max(began + late, began + lasted - unseen) * HOUR_MS;
    const endedAt = reason === null ? null : (began + lasted) * HOUR_MS;
    const more = { ...names, lastSeenAt, endReason: reason };
    putSession(id, began * HOUR_MS, (began + late) * HOUR_MS, endedAt, more);
  };
  type Rolled = typeof session extends fc.Arbitrary<infer T> ? T : never;
  type Question = typeof question extends fc.Arbitrary<infer T> ? T : never;
  async function agrees(questions: readonly Question[]) {
    for (const { edges, by, timezone, filter } of questions) {
      const [start = 0, end = 0] = edges.toSorted((a, b) => a - b).map((hour) => hour * HOUR_MS);
      const now = 200 * HOUR_MS;
      const read = createReader(store.sqlite, { now });
      const asked = { now, intervals: INTERVALS };
      const lastSeen = new Map<string, number>();
      const plain = createPlainUsage(by, start, end, timezone, GAPS);
      const readings = await read.lastReadings();
      const { holdingOf } = holdingsAt(readings, asked, new Map(Object.entries(GAPS)));
      for (const row of read.all<HeldSession>(`SELECT ${HELD_COLUMNS} FROM sessions`)) {
        const { servers, daemons, features, users, hosts } = filter;
        if (servers !== null && !servers.includes(row.server)) continue;
        const host = row.host?.toLowerCase();
        const seenAt = Math.max(row.lastSeenAt, row.endedAt === null ? (readings.get(row.server) ?? 0) : 0);
        const at = row.endReason === "checkin" ? (row.endedAt ?? 0) : seenAt;
        for (const [kind, name] of [
          ["user", row.user],
          ["host", host],
        ] as const)
          if (name?.includes("s"))
            lastSeen.set(`${kind} ${name}`, Math.max(lastSeen.get(`${kind} ${name}`) ?? at, at));
        if (daemons !== null && !daemons.includes(row.daemon)) continue;
        if (features !== null && !features.includes(row.feature)) continue;
        if (users !== null && !users.includes(row.user ?? "")) continue;
        if (hosts !== null && !hosts.some((one) => one.toLowerCase() === host)) continue;
        plain.add(row, holdingOf(row));
      }
      const more = { intervals: INTERVALS, filter, groupBy: by, timezone };
      const found = {
        ...asked,
        filter: { ...ANY, servers: filter.servers },
        kinds: null,
        start,
        q: "S",
        live: [],
      };
      const page = { sort: { field: "name", descending: false }, limit: 100, offset: 0 } as const;
      const people = await peopleQuery(seenBefore(read, found), { ...found, ...page }, null);
      const told = people.rows.map(({ kind, name, lastSeenAt }): [string, number] => [
        `${kind} ${name.toLowerCase()}`,
        lastSeenAt,
      ]);
      expect(new Map(told)).toEqual(new Map([...lastSeen].filter(([, at]) => at >= start)));
      const { rows } = await usageQuery(read, questionOver(start, end, now, more));
      expect(byKeys(rows)).toEqual(byKeys(plain.groups()));
      // A feature has the same hours in a query for named features and in a query for the whole site.
      const { servers, daemons } = filter;
      const solvers = (servers ?? SERVERS).flatMap((server) =>
        (daemons ?? ["acmed", "betad"]).map((daemon) => ({ server, daemon, feature: "solver" })),
      );
      const range = { start, end, ...asked };
      const ofEach = await heldHours(read, range, solvers);
      const ofSite = await heldHours(read, range);
      for (const solver of solvers) expect(ofEach(solver)).toBe(ofSite(solver));
    }
  }
  await fc.assert(
    fc.asyncProperty(
      fc.array(session, { maxLength: 30 }),
      fc.array(session, { maxLength: 4 }),
      fc.array(question, { minLength: 4, maxLength: 4 }),
      fc.integer({ min: 0, max: 170 }),
      async (list, late, questions, packedAt) => {
        for (const table of ["sessions", "packed_days", "dirty", "last_seen"])
          store.sqlite.run(`DELETE FROM ${table}`);
        list.forEach(put);
        await makeDays(store, fixedClock(packedAt * HOUR_MS));
        // Add imported sessions, and end open sessions; some of these change packed days.
        late.forEach((one, at) => {
          put(one, list.length + at);
        });
        store.sqlite.run(
          "UPDATE sessions SET ended_at = began_at + 7200000, end_reason = 'checkin' WHERE ended_at IS NULL AND id % 2 = 0",
        );
        await agrees(questions);
        // Changed days are packed again.
        await makeDays(store, fixedClock(packedAt * HOUR_MS));
        await agrees(questions);
      },
    ),
    { numRuns: 40 },
  );
});

test("packs a day again if it changed meanwhile", async () => {
  const store = open(temporaryDirectory());
  createServers({ store, clock: { now: () => 0 } }).configured([monitored("eda")]);
  const putSession = sessionPutter(store);
  const put = (id: number) => putSession(id, 0, 0, id * HOUR_MS, { lastSeenAt: 0 });
  put(1);
  let more = 1;
  const meanwhile = () => {
    if (++more < 4) put(more);
  };
  expect(await makeDays(store, fixedClock(2 * DAY_MS), meanwhile)).toEqual({ sessions: 1, sites: 0 });
  const read = createReader(store.sqlite, { now: 2 * DAY_MS });
  const { rows } = await usageQuery(
    read,
    questionOver(0, DAY_MS, 2 * DAY_MS, { groupBy: ["user"] as const }),
  );
  expect(rows).toMatchObject([{ sessions: 3, heldSeatHours: 6 }]);
});
