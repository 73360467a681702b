import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import type { Outage } from "../../src/domain/outages.ts";
import type { PollOutcome } from "../../src/domain/poll.ts";
import { DAY_MS, MINUTE_MS } from "../../src/domain/time/clock.ts";
import {
  availabilityOf,
  createStatusRetention,
  type OutageQuery,
  outagesOf,
} from "../../src/history/outages.ts";
import { createReader, type Reader } from "../../src/history/reader.ts";
import { createTakeBack } from "../../src/history/retention.ts";
import { migrate } from "../../src/store/database/migrate.ts";
import { MIGRATIONS } from "../../src/store/migrations/migrations.ts";
import * as a from "../domain/make.ts";
import { cleanUp } from "../store/place.ts";
import { createRig } from "./rig.ts";

afterEach(cleanUp);

const REFUSED = "Nobody answers at 27000@lic1";
const NO_TOOL = { code: "LICENSE_QUERY_FAILED", message: "no tool", details: null } as const;
const TRIAD = [a.member(), a.member({ host: "lic2", status: "down" }), a.member({ host: "lic3" })];

/** Results of polls by letter. */
const POLLS: Readonly<Record<string, Partial<PollOutcome>>> = {
  u: {},
  g: { reading: a.reading({ members: TRIAD }) },
  d: a.failedPoll(),
  x: { reading: null, error: NO_TOOL },
};

/** Polls once a minute from noon on, as the letters say. `.` skips a poll; `R` restarts licmond. */
async function polled(what: string) {
  const rig = createRig();
  for (const [minute, letter] of [...what.replaceAll("R", "")].entries()) {
    const finishedAt = a.NOON + minute * MINUTE_MS;
    if (letter !== ".")
      await rig.poll({ ...a.outcome(), ...POLLS[letter], startedAt: finishedAt - 200, finishedAt });
    if (what[minute + 1] === "R") rig.restart();
    rig.clock.time = finishedAt;
  }
  return rig;
}

const ALL: Omit<OutageQuery, "start" | "end"> = {
  servers: null,
  statuses: null,
  sort: null,
  limit: 100,
  offset: 0,
};
const minuteOf = (at: number) => (at - a.NOON) / MINUTE_MS;
/** Formats outages as `down 1-2: why`, in minutes after noon. An ongoing outage has no end. */
const toldOf = (rows: readonly Outage[]) =>
  rows.map(({ status, from, until, reason }) => {
    const end = until === null ? "" : minuteOf(until);
    return `${status} ${minuteOf(from)}-${end}${reason === null ? "" : `: ${reason}`}`;
  });

/**
 * Returns the minutes with the status up or degraded, and the minutes down, from `start` until a day after
 * noon.
 */
function minutesOf(read: Reader, start = a.NOON): number[] {
  const { availability, coverage } = availabilityOf(read, "eda", { start, end: a.NOON + DAY_MS });
  const covered = Math.round((coverage * (a.NOON + DAY_MS - start)) / MINUTE_MS);
  const up = Math.round((covered * (availability ?? 0)) / 100);
  return [up, covered - up];
}

describe("each poll's status is stored", () => {
  // Outages, and the minutes up and down, until the last poll.
  const down = `: ${REFUSED}`;
  test.each<[string, string, string[], number[]]>([
    ["no outage", "uuuu", [], [3, 0]],
    ["one failed poll is an outage", "uduu", [`down 1-2${down}`], [2, 1]],
    ["another status begins a row", "ugdu", [`down 2-3${down}`, "degraded 1-2: lic2 is down"], [2, 1]],
    ["an ongoing outage", "udd", [`down 1-${down}`], [1, 1]],
    ["the tool could never be run", "xxx", ["unknown 0-: no tool"], [0, 0]],
    ["always refused", "ddd", [`down 0-${down}`], [0, 2]],
    ["before a late poll nothing is known", "d....d", [`down 5-${down}`, `down 0-1${down}`], [0, 1]],
    ["a restart in time continues it", "udRd", [`down 1-${down}`], [1, 1]],
    ["it ends when polls stop", "ud......", [`down 1-2${down}`], [1, 1]],
  ])("%s: %s", async (_name, what, outages, minutes) => {
    const rig = await polled(what);
    const read = rig.reader();
    const { rows, total } = outagesOf(read, { ...ALL, start: a.NOON, end: rig.clock.time + 1 });
    expect([toldOf(rows), total]).toEqual([outages, outages.length]);
    expect(minutesOf(read)).toEqual(minutes);
  });

  test("a poll postponed by back-off continues the outage", async () => {
    const rig = createRig();
    const poll = (minute: number, next: number) => {
      const finishedAt = a.NOON + minute * MINUTE_MS;
      rig.clock.time = finishedAt;
      return rig.live().record(a.failedPoll({ finishedAt }), a.NOON + next * MINUTE_MS);
    };
    await poll(0, 10);
    await poll(10, 20);
    expect(outagesOf(rig.reader(), { ...ALL, start: 0, end: rig.clock.time }).rows).toMatchObject([
      { from: a.NOON },
    ]);
    expect(minutesOf(rig.reader())).toEqual([0, 10]);
  });

  test("a clock that was set back writes nothing twice, and the rows of a clock years ahead are removed", async () => {
    const rig = await polled("ud");
    await rig.poll(a.outcome({ finishedAt: a.NOON - MINUTE_MS }));
    expect(outagesOf(rig.reader(a.NOON + MINUTE_MS), { ...ALL, start: 0, end: a.NOON + DAY_MS }).total).toBe(
      1,
    );
    await rig.poll(a.failedPoll({ finishedAt: a.NOON + 500 * DAY_MS }));
    const { step } = createTakeBack(rig.store);
    while (step(a.NOON + 3 * MINUTE_MS) > 0);
    await rig.poll(a.outcome({ finishedAt: a.NOON + 3 * MINUTE_MS }));
    expect(minutesOf(rig.reader())).toEqual([1, 1]);
  });

  test("filters, sorts and pages the list, and deletes old outages", async () => {
    const rig = await polled("uduxxugduu");
    const read = rig.reader();
    const ask = (more: Partial<OutageQuery>) => {
      const { rows, total } = outagesOf(read, { ...ALL, start: a.NOON, end: a.NOON + DAY_MS, ...more });
      return [rows.map(({ from }) => minuteOf(from)), total];
    };
    expect(ask({})).toEqual([[7, 6, 3, 1], 4]);
    expect(ask({ statuses: ["down"] })).toEqual([[7, 1], 2]);
    expect(ask({ start: a.NOON + 4 * MINUTE_MS, end: a.NOON + 7 * MINUTE_MS })).toEqual([[6, 3], 2]);
    expect(ask({ servers: ["cad"] })).toEqual([[], 0]);
    expect(ask({ sort: { field: "durationSeconds", descending: true }, limit: 1 })).toEqual([[3], 4]);
    expect(ask({ sort: { field: "endedAt", descending: false }, offset: 1, limit: 2 })).toEqual([[3, 6], 4]);
    const retain = createStatusRetention(rig.store);
    while (retain(a.NOON + 5 * MINUTE_MS) > 0);
    expect(rig.store.sqlite.query("SELECT min(from_at) AS first FROM server_statuses").get()).toEqual({
      first: a.NOON + 5 * MINUTE_MS,
    });
  });
});

describe("outages from the events of an older database", () => {
  const at = (minute: number) => a.NOON + minute * MINUTE_MS;
  const steps = MIGRATIONS.findIndex(({ name }) => name.endsWith("statuses-of-servers"));

  /**
   * Migrates a database with events such as `8 down why`: minute, status, reason. Events before `deleted`
   * are missing, and the last poll is at minute 20.
   */
  function upgraded(events: readonly string[], deleted: number | null = null) {
    const sqlite = new Database(":memory:", { strict: true });
    migrate(sqlite, "x.db", MIGRATIONS.slice(0, steps));
    sqlite.run("INSERT INTO servers VALUES ('eda', 'flexnet', '27000@lic1', 'EDA', 1, 2)");
    const server = { intervalMs: 60_000, timeoutMs: 30_000 };
    const head = { status: "up", lastPollAt: at(20), nextPollAt: at(21), server };
    sqlite
      .query("INSERT INTO pictures (server_id, saved_at, head) VALUES ('eda', 3, ?)")
      .run(JSON.stringify({ head }));
    const event = sqlite.query("INSERT INTO events VALUES (?1, ?1, ?2, NULL, ?3, 'eda', ?4)");
    for (const [minute, to = "", reason = null] of events.map((text) => text.split(" "))) {
      const isStatus = to !== "line" && to !== "started";
      const body = isStatus
        ? { from: "up", to, reason, daemon: to === "daemon" ? "d" : null }
        : { message: `licmond ${to}` };
      event.run(
        at(Number(minute)),
        isStatus ? "server_status" : "log",
        isStatus ? null : "system",
        JSON.stringify(body),
      );
    }
    event.run(at(1) + 1, "log", "system", "cut off");
    if (deleted !== null) sqlite.run(`INSERT INTO event_marks VALUES ('deleted_events', ${at(deleted)})`);
    migrate(sqlite, "x.db", MIGRATIONS);
    const read = createReader(sqlite, { now: at(21) });
    const { rows } = outagesOf(read, { ...ALL, start: 0, end: at(1440) });
    const told = [...toldOf(rows), ...minutesOf(read, at(-1440))];
    sqlite.close();
    return told;
  }

  test.each<[string, Parameters<typeof upgraded>, ReturnType<typeof upgraded>]>([
    ["without events nothing is known", [[]], [0, 0]],
    ["an outage between two events", [["0 up", "5 down why", "8 up"]], ["down 5-8: why", 17, 3]],
    ["an ongoing outage", [["0 up", "18 down"]], ["down 18-", 18, 2]],
    ["events of daemons do not count", [["0 up", "5 daemon"]], [20, 0]],
    [
      "licmond did not run meanwhile",
      [["0 up", "5 down", "7 line", "12 started", "14 up"]],
      ["down 12-14", "down 5-7", 11, 4],
    ],
    ["deleted events are unknown", [["8 down", "9 up"], 6], ["down 8-9", 13, 1]],
    ["no change since", [[], 6], [14, 0]],
    ["an unknown status", [["0 up", "5 odd", "8 up"]], [17, 0]],
  ])("%s", (_name, past, expected) => {
    expect(upgraded(...past)).toEqual(expected);
  });
});
