import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ServerPicture } from "../../../src/domain/picture.ts";
import { applyPoll } from "../../../src/domain/polls/apply-poll.ts";
import {
  NO_TRACKING,
  openSessions,
  resumeTracking,
  shuffle,
  trackSessions,
} from "../../../src/domain/polls/track-sessions.ts";
import type { CheckoutReading, Reading } from "../../../src/domain/reading.ts";
import { beginOf, durationSeconds, type Session, seatKey, shownBegin } from "../../../src/domain/session.ts";
import { summarise } from "../../../src/domain/summary.ts";
import { checkout, daemon, failedPoll, feature, NOON, outcome, reading, server } from "../make.ts";

const MINUTE = 60_000;

/** Creates a site whose polls are a minute apart by default. `order` changes the order of new ids. */
function site(timezone = "UTC", begin = NOON, order = (ids: number[]) => ids) {
  let picture: ServerPicture | null = null;
  let shown: ServerPicture | null = null;
  let tracking = NO_TRACKING;
  let nextId = 1;
  const eda = server({ timezone });
  let now = begin - MINUTE;
  let aheadMs: number | null = null;
  const track = () => {
    if (picture === null) throw new Error("no poll yet");
    const nextIds = (count: number) => order(Array.from({ length: count }, () => nextId++));
    const steps = trackSessions(tracking, picture, nextIds, aheadMs);
    for (;;) {
      const step = steps.next();
      if (step.done !== true) continue;
      tracking = step.value.tracking;
      shown = step.value.picture;
      picture = shown;
      return step.value.changes;
    }
  };
  return {
    read(change: Partial<Reading>, after = MINUTE) {
      now += after;
      const poll = outcome({ reading: reading(change), startedAt: now, finishedAt: now });
      picture = applyPoll(picture, eda, poll, null);
      return track();
    },
    /** Applies a poll that shows these seats of a feature. */
    seats(rows: readonly CheckoutReading[], change: Parameters<typeof feature>[0] = {}, after = MINUTE) {
      return this.read({ features: [feature({ checkouts: rows, used: rows.length, ...change })] }, after);
    },
    fail(after = MINUTE) {
      now += after;
      picture = applyPoll(picture, eda, failedPoll({ finishedAt: now }), null);
      return track();
    },
    restart() {
      tracking = resumeTracking(openSessions(tracking), tracking.begun, picture?.features ?? []);
    },
    /** Sets how many ms the clock seems to be ahead; negative if it is behind, null if it is trusted. */
    doubt(ms: number | null) {
      aheadMs = ms;
    },
    open: () => openSessions(tracking),
    /** Number of users in the summary. */
    users: () => summarise({ version: 1, servers: shown === null ? [] : [shown] }).users,
    /** The checkouts of the picture. */
    shown: () => (shown?.features ?? []).flatMap(({ checkouts }) => checkouts),
    now: () => now,
  };
}

const ann = checkout({ user: "ann", handle: "1", startedAt: NOON - 3_600_000 });
const bob = checkout({ user: "bob", handle: "2", startedAt: NOON - 1_800_000 });
const names = (list: readonly Session[]) => list.map(({ user }) => user);

describe("equal lines in two readings", () => {
  test("keep their objects, and their sessions count as seen", () => {
    const at = site();
    at.seats([ann, bob]);
    const before = at.shown();
    at.seats([ann, bob]);
    expect(at.shown().every((row, index) => row === before[index])).toBe(true);
    expect(at.open().map(({ lastSeenAt }) => lastSeenAt)).toEqual([at.now(), at.now()]);
    const seenAt = at.now();
    const ended = { lastSeenAt: seenAt, endedAt: seenAt + MINUTE, endReason: "checkin" };
    expect(at.seats([bob])).toMatchObject({ closed: [{ user: "ann", ...ended }] });
  });

  const OTHER: { readonly [column in keyof CheckoutReading]: CheckoutReading[column] } = {
    user: "eve",
    host: "ws-other",
    display: ":9",
    qualifier: "other",
    version: "v0.1",
    count: 7,
    handle: "77",
    pid: 7,
    startedAt: NOON - 60_000,
    lingerSeconds: 7,
    borrowed: true,
    pool: 7,
  };
  test.each(Object.entries(OTHER))("are others as soon as %s is another one", (column, value) => {
    const at = site();
    at.seats([ann, bob]);
    at.seats([{ ...ann, [column]: value }, bob]);
    expect(at.shown()[0]).toMatchObject({ [column]: value });
  });
});

/** Checkout lines by their letter in `changesOf`. */
const LINES: Readonly<Record<string, CheckoutReading>> = {
  a: ann,
  b: bob,
  H: { ...ann, handle: "77" },
  D: { ...ann, display: ":1" },
  X: { ...ann, display: "XyZ " },
  L: { ...ann, startedAt: NOON + 30_000 },
  C: { ...ann, count: 5 },
  T: checkout({ handle: null, startedAt: null }),
};

/**
 * Runs polls such as `ab`, each a minute apart: `-` no seats, `~b` too few lines, `^b` cut output, `x` without the
 * feature, `d` with its daemon down, `!` failed, `R` a restart of licmond, `10-` after ten minutes. Returns the changes
 * of each poll: `+` opened, `-` closed, `*` changed.
 */
function changesOf(polls: string): string {
  const at = site();
  return polls
    .split(" ")
    .flatMap((poll) => {
      const [, minutes = "", kind = "", letters = ""] = /^(\d*)([-~^xd!R]?)(\w*)$/.exec(poll) ?? [];
      const after = Number(minutes || 1) * MINUTE;
      if (kind === "R") {
        at.restart();
        return [];
      }
      const rows = [...letters].flatMap((letter) => LINES[letter] ?? []);
      const short = kind === "~" || kind === "^" ? { consistency: "short" as const, used: 2 } : {};
      const cut = kind === "^";
      const features = [feature({ checkouts: rows, used: rows.length, ...short, cut })];
      if (kind === "x") features.pop();
      const down = { features: [], daemons: [daemon({ status: "down" })] };
      const { opened, closed, changed } =
        kind === "!" ? at.fail(after) : at.read(kind === "d" ? down : { features, cut }, after);
      const ended = closed.map(({ id, user, endReason }) => `-${user}${id}:${endReason}`);
      const others = changed.map(({ id, user }) => `*${user}${id}`);
      return [[...opened.map(({ id, user }) => `+${user}${id}`), ...ended, ...others].join(" ") || "."];
    })
    .join(", ");
}

describe("a session", () => {
  test.each([
    ["ends at the first good reading without it", "ab b", "+ann1 +bob2, -ann1:checkin"],
    ["is not closed by failed or cut polls, or a daemon that is down", "a ! ^ d !", "+ann1, ., *ann1, ., ."],
    ["ends when its feature is missing twice", "a x x", "+ann1, ., -ann1:checkin"],
    ["of a partial feature", "ab ~b ~ab ~b", "+ann1 +bob2, *ann1, *ann1, -ann1:checkin"],
    ["stays open while the output is cut", "ab ^b ^b ^b", "+ann1 +bob2, *ann1, *ann1, *ann1"],
    ["that ends in a gap is unobserved", "a 10-", "+ann1, -ann1:unobserved"],
    ["ends with a restart of its server", "a ! -", "+ann1, ., -ann1:server_restart"],
    ["continues under a new handle", "a H", "+ann1, *ann1"],
    ["matches its own line if two differ only in the display", "aD D", "+ann1 +ann2, -ann1:checkin"],
    ["continues if its tool prints another display each time", "a X D", "+ann1, ., ."],
    ["ends when its handle starts again", "a L", "+ann1, +ann2 -ann1:checkin"],
    ["survives a restart of licmond", "a R a", "+ann1, ."],
    ["can change its count", "a C", "+ann1, *ann1"],
    ["equal lines are distinguished by their order", "TTT TT", "+ann1 +ann2 +ann3, -ann3:checkin"],
  ])("%s", (_, polls, changes) => {
    expect(changesOf(polls)).toBe(changes);
  });

  test("of the first reading is not announced, later ones are, also after a restart", () => {
    const at = site();
    expect(at.seats([ann])).toMatchObject({ announce: false, opened: [{ user: "ann", id: 1 }] });
    expect(at.seats([ann, bob])).toMatchObject({ announce: true, opened: [{ user: "bob", id: 2 }] });
    at.restart();
    expect(at.seats([ann]).announce).toBe(true);
  });

  test("has its times when it ends", () => {
    const at = site();
    at.seats([ann, bob]);
    expect(at.seats([bob]).closed).toMatchObject([{ lastSeenAt: NOON, endedAt: NOON + MINUTE }]);
    const [ended] = at.seats([], {}, 10 * MINUTE).closed;
    expect(ended).toMatchObject({ lastSeenAt: NOON + MINUTE, endedAt: NOON + 11 * MINUTE });
    if (ended !== undefined) expect(durationSeconds(ended, at.now(), MINUTE)).toBe(1_800 + 120);
  });

  test("counts in the summary while it is open, even without a line in a cut reading", () => {
    const at = site();
    at.seats([ann, bob]);
    expect(at.users()).toBe(2);
    at.seats([ann], { used: 2, consistency: "short", cut: true });
    expect([at.users(), names(at.open())]).toEqual([2, ["ann", "bob"]]);
    at.fail();
    expect(at.users()).toBe(2);
    at.seats([ann]);
    expect(at.users()).toBe(1);
  });

  // A seat is returned and taken again in the minute 11:59, between polls at 11:59:50 and 12:00:10.
  const young = checkout({ user: "ann", handle: "1", display: ":0", startedAt: NOON - MINUTE });
  test.each<[string, Partial<CheckoutReading>]>([
    ["handle", { handle: "2" }],
    ["display", { display: ":1" }],
    ["handle and display", { handle: "2", display: ":1" }],
  ])("in the same minute with another %s is a new session", (_name, change) => {
    const at = site("UTC", NOON - 10_000);
    at.seats([young]);
    const changes = at.seats([{ ...young, ...change }], {}, 20_000);
    expect(changes).toMatchObject({
      opened: [{ id: 2, ...change }],
      closed: [{ id: 1, endReason: "checkin" }],
    });
  });
});

describe("the start of counting", () => {
  test.each([
    ["as reported", -3_600_000, true, -3_600_000],
    ["first seen, when the tool says nothing", null, true, 0],
    ["first seen, when the report lies in the future", 3_600_000, true, 0],
    ["first seen, when a reading proves its absence after the reported start", -3_600_000, false, MINUTE],
    [
      "first seen, as the feature's counts have it, when it was taken between two readings",
      30_000,
      false,
      MINUTE,
    ],
  ])("%s", (_, started, first, began) => {
    const at = site();
    if (!first) at.seats([]);
    const startedAt = started === null ? null : NOON + started;
    expect(at.seats([{ ...ann, startedAt }]).opened[0]?.beganAt).toBe(NOON + began);
  });
});

describe("after a gap", () => {
  const [ABSENT, SEEN] = [NOON, NOON + 60 * MINUTE];
  test.each([
    ["a seat counts from its reported start", NOON + 20 * MINUTE, NOON + 20 * MINUTE],
    ["but not while the one before counts", NOON + 30_000, NOON + MINUTE],
    ["nor from a start before its absence", NOON - 5 * MINUTE, SEEN],
    ["without a start, from when it is seen", null, SEEN],
  ])("%s", (_, startedAt, began) => {
    expect(beginOf(startedAt, SEEN, ABSENT, MINUTE)).toBe(began);
  });
});

describe("the displayed duration", () => {
  test.each([
    ["from its reported start, though it counts from when it was seen", 50_000, -50_000],
    ["from when it was seen, where the reported start is of an earlier session", 3_600_000, 0],
    ["from when it was seen, where the tool says nothing", null, 0],
    ["from when it was seen, where the report lies in the future", -90_000, 0],
  ])("%s", (_, early, from) => {
    const startedAt = early === null ? null : NOON - early;
    expect(shownBegin({ startedAt, beganAt: NOON, firstSeenAt: NOON }, MINUTE)).toBe(NOON + from);
  });

  test("also in the picture", () => {
    const at = site();
    at.seats([]);
    const startedAt = NOON + 30_000;
    const { opened } = at.seats([{ ...ann, startedAt }]);
    expect([opened[0]?.beganAt, at.shown()[0]?.beganAt]).toEqual([NOON + MINUTE, startedAt]);
  });
});

describe("a returning seat with an old start begins when it is seen again", () => {
  const began = (changes: { opened: readonly Session[] }) => changes.opened.map(({ beganAt }) => beganAt);

  test("after its feature was gone and came back", () => {
    const at = site();
    at.seats([ann]);
    at.read({ features: [] });
    expect(names(at.read({ features: [] }).closed)).toEqual(["ann"]);
    at.fail();
    expect(began(at.seats([ann]))).toEqual([at.now()]);
  });

  test("after a restart that followed a reading without it", () => {
    const at = site();
    at.seats([ann]);
    at.seats([]);
    at.restart();
    expect(began(at.seats([ann]))).toEqual([at.now()]);
  });

  test("a feature that was gone for long is new", () => {
    const at = site();
    at.seats([ann]);
    at.read({ features: [] });
    at.read({ features: [] });
    const days = 3 * 24 * 60 * MINUTE;
    at.read({ features: [] }, days);
    expect(began(at.seats([ann]))).toEqual([ann.startedAt ?? 0]);
  });
});

test("after a reading with missing lines the reported start counts, also over a restart", () => {
  const short = { consistency: "short" as const, used: 2 };
  for (const restart of [false, true]) {
    const at = site();
    at.seats([ann], short);
    if (restart) at.restart();
    expect(at.seats([ann, bob], { used: 2 }).opened).toMatchObject([{ user: "bob", beganAt: bob.startedAt }]);
  }
});

test("every line has one open session, and each session opens and closes once", () => {
  const row = fc.record({
    user: fc.constantFrom("ann", "bob", "cy"),
    host: fc.constantFrom("ws1", "WS1", null),
    handle: fc.constantFrom("1", "2", null),
    startedAt: fc.constantFrom(null, NOON - 7_200_000, NOON - 3_600_000),
  });
  const poll = fc.oneof(
    fc.array(row, { maxLength: 6 }),
    fc.constantFrom("fail" as const, "restart" as const),
  );
  fc.assert(
    fc.property(fc.array(poll, { maxLength: 12 }), (polls) => {
      const at = site();
      const opened: number[] = [];
      const closed: number[] = [];
      at.seats([]);
      for (const each of polls) {
        if (each === "restart") {
          at.restart();
          continue;
        }
        const rows = each === "fail" ? null : each.map((change) => checkout(change));
        const changes = rows === null ? at.fail() : at.seats(rows);
        opened.push(...changes.opened.map(({ id }) => id));
        closed.push(...changes.closed.map(({ id }) => id));
        if (rows !== null) expect(at.open().map(seatKey).sort()).toEqual(rows.map(seatKey).sort());
      }
      expect(new Set(opened).size).toBe(opened.length);
      expect(new Set(closed).size).toBe(closed.length);
      const left = opened.filter((id) => !closed.includes(id));
      expect(new Set(at.open().map(({ id }) => id))).toEqual(new Set(left));
    }),
  );
});

test("ten thousand equal lines take linear time", () => {
  const at = site();
  const twin = checkout({ handle: null, startedAt: null });
  const many = Array.from({ length: 10_000 }, () => twin);
  at.seats(many);
  expect(at.seats(many)).toMatchObject({ opened: [], closed: [] });
});

describe("ids", () => {
  const rows = ["ada", "bob", "eve"].map((user) => checkout({ user, handle: user }));

  test("are used as given, and events are in their order", () => {
    const at = site("UTC", NOON, (ids) => ids.reverse());
    at.read({ features: [feature({ checkouts: [] })] });
    const opened = at.read({ features: [feature({ used: 3, checkouts: rows })] }).opened;
    expect(opened.map(({ id, user }) => `${id} ${user}`)).toEqual(["1 eve", "2 bob", "3 ada"]);
    at.read({ features: [feature({ used: 3, checkouts: rows.toReversed() })] });
    const { closed } = at.read({ features: [feature({ checkouts: [] })] });
    expect(closed.map(({ user }) => user)).toEqual(["eve", "bob", "ada"]);
  });

  test("are shuffled evenly", () => {
    let seed = 1;
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const counts = new Map<string, number>();
    for (let round = 0; round < 6_000; round++) {
      const made = shuffle([1, 2, 3], random).join("");
      counts.set(made, (counts.get(made) ?? 0) + 1);
    }
    expect([...counts.keys()].sort()).toEqual(["123", "132", "213", "231", "312", "321"]);
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(150);
  });
});

test("a start that the tool corrects later is shown", () => {
  const at = site();
  at.seats([{ ...ann, startedAt: null }]);
  at.seats([ann]);
  expect(at.shown()).toMatchObject([{ startedAt: ann.startedAt }]);
});

describe("a start in an hour that occurs twice", () => {
  const SECOND = Date.parse("2026-10-25T01:30:00Z");
  const FIRST = SECOND - 60 * MINUTE;
  // Parsers read 02:30 as its first occurrence.
  const cy = checkout({ user: "cy", handle: "3", startedAt: FIRST });

  test("is the second if an earlier reading shows the seat free, also in the picture and after restarts", () => {
    const at = site("Europe/Berlin", SECOND - MINUTE);
    at.seats([]);
    expect(at.seats([cy], {}, MINUTE + 5_000).opened).toMatchObject([{ user: "cy", startedAt: SECOND }]);
    expect(at.shown()).toMatchObject([{ startedAt: SECOND, beganAt: SECOND }]);
    // After a restart of the server, the handle is new and the rest equal.
    const again = at.seats([{ ...cy, handle: "9" }]);
    expect([again.opened, again.closed]).toEqual([[], []]);
    expect(at.shown()).toMatchObject([{ startedAt: SECOND, handle: "9" }]);
    at.restart();
    at.seats([{ ...cy, handle: "9" }]);
    expect(at.shown()).toMatchObject([{ startedAt: SECOND }]);
  });

  test("is the first if no reading shows otherwise", () => {
    const unread = site("Europe/Berlin", SECOND + MINUTE);
    expect(unread.seats([cy]).opened).toMatchObject([{ startedAt: FIRST }]);
    const early = site("Europe/Berlin", FIRST - MINUTE);
    early.seats([]);
    expect(early.seats([cy], {}, 2 * MINUTE).opened).toMatchObject([{ startedAt: FIRST }]);
    // A seat that is returned and taken again still starts at the first occurrence, because the second one is in the
    // future.
    early.seats([]);
    expect(early.seats([cy]).opened).toMatchObject([{ startedAt: FIRST }]);
  });
});

describe("a clock that was behind by days", () => {
  const DAY = 86_400_000;
  const eve = checkout({ user: "eve", handle: "9", startedAt: null });

  test("without being in doubt: seats count from their start once it is right, even if no line changed", () => {
    const at = site("UTC", NOON - 400 * DAY);
    at.seats([ann, bob]);
    expect(at.open()).toMatchObject([{ firstSeenAt: NOON - 400 * DAY }, {}]);
    const { changed } = at.seats([ann, bob], {}, 400 * DAY);
    const times = (row: CheckoutReading) => ({
      beganAt: row.startedAt,
      firstSeenAt: row.startedAt,
      lastSeenAt: NOON,
    });
    expect(changed).toMatchObject([times(ann), times(bob)]);
    expect(at.seats([ann]).closed).toMatchObject([{ ...times(bob), endedAt: NOON + MINUTE }]);
  });

  test("without being in doubt: a seat returned before that counts from its start", () => {
    const at = site("UTC", NOON - 400 * DAY);
    at.seats([ann]);
    const startedAt = ann.startedAt;
    expect(at.seats([], {}, 400 * DAY).closed).toMatchObject([
      { firstSeenAt: startedAt, lastSeenAt: startedAt, endedAt: NOON, endReason: "unobserved" },
    ]);
  });

  test("keeps a start hours after the first reading, as the server's clock may differ", () => {
    const at = site();
    const late = { ...ann, startedAt: NOON + 2 * 3_600_000 };
    at.seats([late]);
    at.seats([late, bob], {}, 3 * 3_600_000);
    expect(at.open()).toMatchObject([{ firstSeenAt: NOON, beganAt: NOON }, {}]);
  });

  test("while in doubt: sessions use the stored time", () => {
    const at = site();
    at.seats([ann, bob]);
    at.doubt(-400 * DAY);
    const wrong = at.seats([ann, eve], {}, MINUTE - 400 * DAY);
    const doubtMs = 400 * DAY;
    const later = NOON + MINUTE;
    expect(wrong.closed).toMatchObject([{ user: "bob", lastSeenAt: NOON, endedAt: later, doubtMs }]);
    expect(wrong.opened).toMatchObject([{ user: "eve", firstSeenAt: later, doubtMs }]);
    at.doubt(null);
    expect(at.seats([], {}, MINUTE + 400 * DAY).closed).toMatchObject([
      { user: "ann", firstSeenAt: NOON, lastSeenAt: later, endedAt: later + MINUTE, endReason: "checkin" },
      { user: "eve", firstSeenAt: later, lastSeenAt: later, endedAt: later + MINUTE },
    ]);
  });

  test("after a clock that was ahead, times in the future are corrected", () => {
    const at = site();
    at.seats([ann]);
    at.doubt(500 * DAY);
    at.seats([ann, eve], {}, 500 * DAY + MINUTE);
    at.doubt(null);
    const { changed } = at.seats([ann, eve], {}, -500 * DAY + MINUTE);
    const seen = NOON + MINUTE;
    expect(changed).toMatchObject([
      { user: "eve", beganAt: seen, firstSeenAt: seen, lastSeenAt: seen + MINUTE },
    ]);
  });
});

describe("a clock that is set back", () => {
  const DAY = 86_400_000;
  const cy = checkout({ user: "cy", handle: "3", startedAt: null });

  test("by less than a day ends no session before it begins", () => {
    const at = site();
    at.seats([ann]);
    at.seats([ann, bob]);
    const [ended] = at.seats([ann], {}, -30 * MINUTE).closed;
    const later = NOON + MINUTE;
    expect(ended).toMatchObject({ user: "bob", firstSeenAt: later, endedAt: later, endReason: "checkin" });
    const [last] = at.seats([]).closed;
    expect(last).toMatchObject({ user: "ann", firstSeenAt: NOON, lastSeenAt: NOON, endedAt: NOON });
  });

  test("by days corrects later times", () => {
    const at = site();
    at.seats([ann]);
    at.seats([ann, cy, bob], {}, 500 * DAY);
    const { changed, closed } = at.seats([ann, cy], {}, -500 * DAY + MINUTE);
    const now = NOON + MINUTE;
    expect(closed).toMatchObject([{ user: "bob", firstSeenAt: now, lastSeenAt: now, endedAt: now }]);
    expect(changed).toMatchObject([{ user: "cy", beganAt: now, firstSeenAt: now, lastSeenAt: now }]);
    expect(at.seats([]).closed).toMatchObject([
      { user: "ann", firstSeenAt: NOON, lastSeenAt: now, endedAt: now + MINUTE, endReason: "checkin" },
      { user: "cy", firstSeenAt: now, endedAt: now + MINUTE },
    ]);
  });

  test("or ahead repeatedly keeps the times of every session in order", () => {
    const after = fc.oneof(
      fc.constantFrom(MINUTE, -500 * DAY, 500 * DAY),
      fc.integer({ min: -3 * DAY, max: 3 * DAY }),
    );
    const poll = fc.tuple(fc.subarray([ann, bob, cy]), after);
    fc.assert(
      fc.property(fc.array(poll, { maxLength: 20 }), (polls) => {
        const at = site();
        const ended = polls.flatMap(([rows, after]) => at.seats(rows, {}, after).closed);
        for (const session of [...at.open(), ...ended]) {
          const { beganAt, firstSeenAt, lastSeenAt, endedAt } = session;
          const times = [beganAt, firstSeenAt, lastSeenAt, endedAt ?? lastSeenAt];
          expect(times).toEqual([...times].sort((one, other) => one - other));
          expect(durationSeconds(session, at.now(), MINUTE)).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});
