import { afterEach, expect, test } from "bun:test";
import fc from "fast-check";
import type { Session } from "../../../src/domain/session.ts";
import { bucketEdges, INTERVALS } from "../../../src/domain/stats/bucketed.ts";
import { holdingsAt } from "../../../src/domain/stats/held-seats.ts";
import type { UsageKey } from "../../../src/domain/stats/usage.ts";
import { historyBegins } from "../../../src/history/range.ts";
import { sessionsQuery } from "../../../src/history/sessions/session-list.ts";
import { SESSION_COLUMNS } from "../../../src/history/sessions/sessions.ts";
import { efficiencyQuery } from "../../../src/history/statistics/efficiency.ts";
import { heatmapQuery } from "../../../src/history/statistics/heatmap.ts";
import { statsQuery } from "../../../src/history/statistics/stats.ts";
import { usageQuery } from "../../../src/history/statistics/usage.ts";
import * as a from "../../domain/make.ts";
import { wallClock, ZONES } from "../../domain/stats/histories.ts";
import { byKeys } from "../../domain/stats/plain-usage.ts";
import { cleanUp } from "../../store/place.ts";
import { ANY, createRig, questionOver } from "../rig.ts";

afterEach(cleanUp);

const HOUR = 3_600_000;
const { intervalMs, timeoutMs } = a.server();

/** One poll of a server with one feature. `users` is null if the poll failed. */
interface Raw {
  readonly at: number;
  readonly total: number | null;
  readonly unlimited: boolean;
  readonly users: readonly string[] | null;
  /** The start of each checkout, as the tool reports it. */
  readonly started: ReadonlyMap<string, number>;
}

const polls = fc.array(
  fc.record({
    wait: fc.oneof(
      { weight: 14, arbitrary: fc.constant(60) },
      { weight: 4, arbitrary: fc.integer({ min: 30, max: 149 }) },
      { weight: 1, arbitrary: fc.integer({ min: 151, max: 3 * 3600 }) },
      { weight: 1, arbitrary: fc.integer({ min: 8 * 3600, max: 20 * 3600 }) },
    ),
    total: fc.constantFrom<(number | null)[]>(2, 3, 3, 3, 0, 8, null),
    unlimited: fc.integer({ min: 0, max: 7 }).map((roll) => roll === 0),
    users: fc.option(fc.subarray(["ada", "bob", "eve", "uma"]), { freq: 12 }),
    /** Number of seconds from a new user's start to the poll. */
    lead: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 7200 })),
    same: fc.integer({ min: 0, max: 3 }).map((roll) => roll > 0),
    pack: fc.integer({ min: 0, max: 5 }).map((roll) => roll === 0),
  }),
  { minLength: 1, maxLength: 50 },
);

/** Plays polls to a daemon, starting at `from`. */
async function play(list: typeof polls extends fc.Arbitrary<infer T> ? T : never, from: number) {
  const rig = createRig();
  const raws: Raw[] = [];
  let at = from;
  let last: Pick<(typeof list)[number], "total" | "unlimited" | "users"> | undefined = list[0];
  let seats: ReadonlyMap<string, number> = new Map();
  for (const { wait, pack, lead, ...rolled } of list) {
    at += wait * 1000;
    const { users, ...seatsOf }: Pick<Raw, "total" | "unlimited" | "users"> =
      rolled.same && last !== undefined && last.users !== null ? last : rolled;
    const unlimited = seatsOf.unlimited;
    const total = unlimited ? null : seatsOf.total;
    last = { total, unlimited, users: users === null ? null : [...users] };
    const before = seats;
    const started = new Map(users?.map((user) => [user, before.get(user) ?? at - lead * 1000]));
    if (users !== null) seats = started;
    raws.push({ at, total, unlimited, users, started });
    const features = [
      a.feature({
        name: "solver",
        total,
        unlimited,
        used: users?.length ?? 0,
        checkouts: (users ?? []).map((user, index) =>
          a.checkout({
            user,
            host: index % 2 === 0 ? "ws1" : "WS1",
            handle: user,
            startedAt: started.get(user) ?? null,
          }),
        ),
      }),
    ];
    await rig.poll(
      users === null
        ? a.failedPoll({ startedAt: at - 200, finishedAt: at })
        : a.outcome({ startedAt: at - 200, finishedAt: at, reading: a.reading({ features }) }),
    );
    if (pack) rig.history().packAll();
  }
  return { rig, raws, until: at };
}

/** Returns the poll that holds in each second of [start, end). */
function secondsOf(raws: readonly Raw[], start: number, end: number, now: number): (Raw | null)[] {
  const held: (Raw | null)[] = [];
  for (let at = start; at < end; at += 1000) {
    const index = raws.findLastIndex((poll) => poll.at <= at);
    const poll = raws[index];
    if (poll === undefined || poll.users === null || at >= now) {
      held.push(null);
      continue;
    }
    const next = raws[index + 1]?.at ?? Number.POSITIVE_INFINITY;
    const late = next - poll.at > 2 * intervalMs + timeoutMs;
    held.push(late && at >= poll.at + intervalMs ? null : poll);
  }
  return held;
}

interface PlainSession {
  readonly user: string;
  /** Start according to the readings. */
  readonly from: number;
  readonly firstSeen: number;
  readonly lastSeen: number;
  readonly ended: number | null;
  /** Time until which the session held seats, as the displayed duration shows it. */
  readonly to: number;
}

/** Derives sessions from the successful polls. */
function sessionsOf(raws: readonly Raw[], now: number): PlainSession[] {
  const good = raws.filter((poll) => poll.users !== null);
  const found: PlainSession[] = [];
  const close = (user: string, firstSeen: number, lastSeen: number, ended: number | null) => {
    const first = good.findIndex(({ at }) => at === firstSeen);
    const absent = good[first - 1]?.at ?? Number.NEGATIVE_INFINITY;
    const started = good[first]?.started.get(user) ?? firstSeen;
    const gap = firstSeen - absent > 2 * intervalMs;
    // FlexNet reports only the minute of a start, so the start may be up to a minute later.
    const proven = started + 60_000 <= absent || (Number.isFinite(absent) && !gap);
    const from = proven ? firstSeen : Math.max(started, absent + intervalMs);
    const end = ended ?? now;
    const to = end - lastSeen > 2 * intervalMs ? lastSeen + intervalMs : end;
    found.push({ user, from, firstSeen, lastSeen, ended, to });
  };
  for (const user of ["ada", "bob", "eve", "uma"]) {
    let from: number | null = null;
    let seen = 0;
    for (const poll of good) {
      if (poll.users?.includes(user) === true) {
        from ??= poll.at;
        seen = poll.at;
      } else if (from !== null) {
        close(user, from, seen, poll.at);
        from = null;
      }
    }
    if (from !== null) close(user, from, seen, null);
  }
  return found;
}

/** Returns the used share of the seats in each poll in which both numbers are known. */
const ratiosOf = (polls: readonly Raw[]) =>
  polls.flatMap(({ users, total }) => (total === null || total === 0 ? [] : [(users?.length ?? 0) / total]));
const round = (value: number, by: number) => Math.round(value * by) / by;
const sum = (values: readonly number[]) => values.reduce((x, y) => x + y, 0);
const mean = (values: readonly number[]) => (values.length > 0 ? sum(values) / values.length : null);
const near = (got: number | null | undefined, wanted: number | null, by = 0.010_001) => {
  if (wanted === null) expect(got).toBeNull();
  else expect(Math.abs((got ?? Number.NaN) - wanted), `${got} for ${wanted}`).toBeLessThanOrEqual(by);
};

const FILTER = { ...ANY, features: ["solver"] };
const intervals = { eda: intervalMs };
const OF_SOLVER = { filter: FILTER, intervals };

/** Near changes of the clocks, so that ranges include such changes. */
const start = fc.constantFrom(
  ...["2026-03-28T20:00:00Z", "2026-10-24T20:00:00Z", "2026-04-04T10:00:00Z", "2026-11-01T02:00:00Z"].map(
    (text) => Date.parse(text),
  ),
);
const cut = fc.record({ head: fc.nat(5000), tail: fc.nat(7200) });

test("figures, series and the heat map agree with plain loops over the polls", async () => {
  await fc.assert(
    fc.asyncProperty(
      polls,
      start,
      cut,
      fc.constantFrom(...INTERVALS),
      fc.constantFrom(...ZONES),
      async (list, at, { head, tail }, interval, timezone) => {
        const { rig, raws, until } = await play(list, at);
        const range = {
          start: at + head * 1000,
          end: Math.max(until + tail * 1000 - 3600_000, at + head * 1000 + 1000),
        };
        const now = until + 1000;
        const more = { ...OF_SOLVER, interval, timezone, series: true, sort: null, limit: null };
        const told = await statsQuery(rig.reader(now), questionOver(range.start, range.end, now, more));
        const seconds = secondsOf(raws, range.start, range.end, now);
        const known = seconds.filter((poll) => poll !== null);
        const used = known.map((poll) => poll.users?.length ?? 0);
        const rated = known.filter(({ total }) => (total ?? 0) > 0);
        const judged = known.filter(({ total, unlimited }) => unlimited || (total ?? 0) > 0);
        const ratios = ratiosOf(known);
        const holders = sessionsOf(raws, now).filter(
          ({ from, ended }) => from < range.end && (ended ?? now) > range.start,
        );
        // Count users with a session in a covered hour. Sessions are clipped to the range; if the range is
        // longer than a day, its first and last hour count in full. The range begins with the history.
        const sessions = sessionsOf(raws, now);
        const isLong = range.end - (await historyBegins(rig.reader(now), range)) > 24 * HOUR;
        const users = new Set<string>();
        for (let hour = Math.floor(range.start / HOUR) * HOUR; hour < range.end; hour += HOUR) {
          const from = isLong ? hour : Math.max(hour, range.start);
          const to = isLong ? hour + HOUR : Math.min(hour + HOUR, range.end);
          if (secondsOf(raws, from, to, now).every((poll) => poll === null)) continue;
          for (const one of sessions)
            if (one.from < to && (one.ended ?? Infinity) > from) users.add(one.user);
        }
        const [row] = told.rows;
        if (row === undefined) return expect(raws.every((poll) => poll.users === null)).toBe(true);
        const some = used.length > 0;
        expect(row).toMatchObject({
          total: known.at(-1)?.total ?? null,
          peakUsed: some ? Math.max(...used) : null,
          p95Used: used.toSorted((x, y) => x - y)[Math.ceil(0.95 * used.length) - 1] ?? null,
          saturatedSeconds:
            judged.length > 0
              ? rated.filter(({ users, total }) => (users?.length ?? 0) >= (total ?? 0)).length
              : null,
          sessions: some || holders.length > 0 ? holders.length : null,
          uniqueUsers: some ? users.size : null,
        });
        near(row.averageUsed, mean(used), 0.001);
        near(row.usedSeatHours, some ? sum(used) / 3600 : null, 0.001);
        // Without reservations, the sessions hold all seats in use. Neither number counts gaps.
        near(row.heldSeatHours, some || holders.length > 0 ? sum(used) / 3600 : null, 0.001);
        near(row.coverage, known.length / seconds.length, 0.001);
        near(row.peakUtilization, ratios.length > 0 ? Math.max(...ratios) * 100 : null);
        near(row.averageUtilization, mean(ratios.map((ratio) => ratio * 100)));

        const name = (second: number) => {
          const instant = range.start + second * 1000;
          if (interval === "1d") return wallClock(timezone, instant).day;
          return String(Math.floor(instant / (interval === "1h" ? HOUR : 300_000)));
        };
        const buckets = Map.groupBy(seconds.keys(), name);
        expect(row.points?.map(({ at: begin }) => begin)).toEqual(
          bucketEdges(interval, range.start, range.end, timezone).slice(0, -1),
        );
        expect(row.points?.length).toBe(buckets.size);
        [...buckets.values()].forEach((inside, index) => {
          const polled = inside.flatMap((second) => seconds[second] ?? []);
          const counts = polled.map((poll) => poll.users?.length ?? 0);
          const point = row.points?.[index];
          near(point?.used, mean(counts), 0.002);
          expect(point?.peakUsed).toBe(counts.length > 0 ? Math.max(...counts) : null);
          expect(point?.total).toBe(polled.at(-1)?.total ?? null);
        });

        const { cells } = await heatmapQuery(rig.reader(now), { ...range, filter: FILTER, timezone });
        let clock = wallClock(timezone, range.start);
        const byCell = Map.groupBy(seconds.keys(), (second) => {
          const instant = range.start + second * 1000;
          if (instant % 900_000 === 0) clock = wallClock(timezone, instant);
          return `${clock.weekday} ${clock.hour}`;
        });
        for (const { weekday, hour, averageUsed, peakUsed, averageUtilization, coverage } of cells) {
          const inside = byCell.get(`${weekday} ${hour}`) ?? [];
          const polled = inside.flatMap((second) => seconds[second] ?? []);
          const counts = polled.map((poll) => poll.users?.length ?? 0);
          near(averageUtilization, mean(ratiosOf(polled).map((ratio) => ratio * 100)));
          near(averageUsed, mean(counts), 0.002);
          expect(peakUsed).toBe(counts.length > 0 ? Math.max(...counts) : null);
          near(coverage, inside.length > 0 ? counts.length / inside.length : 0, 0.001);
        }
        cleanUp();
      },
    ),
    { numRuns: 20 },
  );
});

test("sessions, usage and efficiency agree with plain loops over the polls", async () => {
  await fc.assert(
    fc.asyncProperty(polls, start, cut, async (list, at, { head, tail }) => {
      const { rig, raws, until } = await play(list, at);
      const now = until + 1000;
      const range = {
        start: at + head * 1000,
        end: Math.max(until - Math.floor(tail / 2) * 1000, at + head * 1000 + 1000),
      };
      const read = rig.reader(now);
      const plain = sessionsOf(raws, now);
      const listed = sessionsQuery(read, {
        ...questionOver(0, 0, now, { intervals, start: null, end: null }),
        sort: { field: "firstSeenAt", descending: false },
      });
      const { holdingOf } = holdingsAt(read.lastReadings(), { now, intervals });
      const shown = read.all<Session>(`SELECT ${SESSION_COLUMNS} FROM sessions`).map((session) => {
        const { beganAt: from, firstSeenAt: firstSeen, lastSeenAt, endedAt: ended } = session;
        const user = session.user ?? "";
        const seen = raws.filter((poll) => poll.users?.includes(user)).map((poll) => poll.at);
        const lastSeen = ended === null ? Math.max(...seen) : lastSeenAt;
        return { user, from, firstSeen, ended, to: holdingOf(session).to, lastSeen };
      });
      const order = (x: PlainSession, y: PlainSession) => x.from - y.from || (x.user < y.user ? -1 : 1);
      expect(shown.toSorted(order)).toEqual(plain.toSorted(order));
      expect(listed.total).toBe(plain.length);

      const usage = (from: number, to: number, groupBy: readonly UsageKey[]) =>
        usageQuery(read, questionOver(from, to, now, { intervals, groupBy }));
      const { rows } = await usage(range.start, range.end, ["user"]);
      // Seat-hours count until the coverage ends, even if the displayed duration ends earlier.
      const covered = secondsOf(raws, at, now, now);
      const coveredUntil = ({ lastSeen, ended, to }: PlainSession) => {
        if ((ended ?? now) - lastSeen <= 2 * intervalMs) return to;
        const first = (lastSeen - at) / 1000;
        const length = covered.slice(first).indexOf(null);
        return Math.min(length < 0 ? now : lastSeen + length * 1000, ended ?? now);
      };
      const clipped = plain
        .map((one) => ({
          ...one,
          from: Math.max(one.firstSeen, range.start),
          to: Math.min(coveredUntil(one), range.end),
        }))
        .filter(({ from, to }) => from < to);
      const seconds = secondsOf(raws, range.start, range.end, now);
      const wanted = [...Map.groupBy(clipped, ({ user }) => user)].map(([user, own]) => ({
        keys: { user },
        heldSeatHours: round(seconds.filter((poll) => poll?.users?.includes(user)).length / 3600, 10_000),
        sessions: own.length,
        peakHeld: 1,
        uniqueUsers: 1,
        lastUsedAt: Math.max(...own.map(({ to }) => to)),
      }));
      // The sessions never add up to more seats than the highest reading.
      const [together] = (await usage(at, now, ["feature"])).rows;
      if (together !== undefined)
        expect(together.peakHeld).toBe(Math.max(...raws.map(({ users }) => users?.length ?? 0)));
      expect(byKeys(rows)).toEqual(byKeys(wanted));
      expect(rows.map(({ heldSeatHours }) => heldSeatHours)).toEqual(
        rows.map(({ heldSeatHours }) => heldSeatHours).toSorted((x, y) => y - x),
      );

      const question = questionOver(range.start, range.end, now, OF_SOLVER);
      const [efficiency] = (await efficiencyQuery(read, { ...question, sort: null })).rows;
      if (efficiency === undefined) return;
      const used = seconds.flatMap((poll) => poll?.users?.length ?? []);
      for (const { seat, busyPercent } of efficiency.seats)
        near(busyPercent, (used.filter((count) => count >= seat).length / used.length) * 100);
      const began = plain.filter(({ firstSeen }) => firstSeen >= range.start && firstSeen < range.end);
      for (const { total, saturatedSeconds, affectedSessions } of efficiency.whatIf) {
        // Without a log, demand beyond the seats is unknown.
        if (total > (efficiency.total ?? 0)) {
          expect([saturatedSeconds, affectedSessions]).toEqual([null, null]);
          continue;
        }
        expect(saturatedSeconds).toBe(used.filter((count) => count >= total).length);
        expect(affectedSessions).toBe(
          began.filter(
            ({ firstSeen }) => (raws.find((poll) => poll.at === firstSeen)?.users?.length ?? 0) > total,
          ).length,
        );
      }
      cleanUp();
    }),
    { numRuns: 15 },
  );
});
