import { afterEach, describe, expect, test } from "bun:test";
import { type EventInput, NEVER_UNSTORED } from "../../src/domain/events.ts";
import type { ServerPicture } from "../../src/domain/picture.ts";
import type { MonitoredServer } from "../../src/domain/server.ts";
import { type Change, createLive } from "../../src/live/live.ts";
import type { Store } from "../../src/store/open/open.ts";
import { createServers } from "../../src/store/servers.ts";
import * as a from "../domain/make.ts";
import { cleanUp, fixedClock, manualTimers, open, temporaryDirectory } from "../store/place.ts";
import { recordingLog } from "../store/recording-log.ts";

afterEach(cleanUp);

function make(servers: readonly MonitoredServer[] = [a.server()], store: Store = open(temporaryDirectory())) {
  const clock = fixedClock(a.NOON);
  const timers = manualTimers();
  const log = recordingLog();
  const told: EventInput[] = [];
  const commit = async (work: () => void, events: readonly EventInput[]) => {
    try {
      store.transaction(() => work());
      told.push(...events);
    } catch (error) {
      told.push(...events.filter(({ type }) => !NEVER_UNSTORED.has(type)));
      throw error;
    }
  };
  const live = createLive({ store, commit, servers, clock, timers, log });
  const changes: Change[] = [];
  live.subscribe((change) => changes.push(change));
  return { store, clock, timers, log, live, changes, told };
}

const shown = (live: { snapshot(): { servers: readonly ServerPicture[] } }) =>
  live.snapshot().servers.map(({ server, state }) => [server.id, state]);

describe("a start", () => {
  test("without stored data, shows servers as unknown in config order", () => {
    const { live } = make([a.server({ id: "z" }), a.server({ id: "b" })]);
    const unknown = { status: "unknown", state: "failed" };
    expect(live.snapshot().servers).toMatchObject([
      { server: { id: "z" }, ...unknown },
      { server: { id: "b" }, ...unknown },
    ]);
  });

  test("shows the previous process's data as stale, with its time, under the current config", async () => {
    const first = make([a.server(), a.server({ id: "gone" })]);
    const known = await first.live.record(a.outcome(), a.NOON + 60_000);
    await first.live.record(a.outcome({ serverId: "gone" }), null);
    await first.live.stop();
    first.store.close();

    const renamed = a.server({ name: "renamed" });
    const { live, log } = make([renamed, a.server({ id: "new" })], open(first.store.directory));
    expect(shown(live)).toEqual([
      ["eda", "stale"],
      ["new", "failed"],
    ]);
    const [eda] = live.snapshot().servers;
    expect(eda).toMatchObject({ server: renamed, collectedAt: a.NOON, nextPollAt: null });
    expect(eda?.features).toEqual(known.features.map((feature) => ({ ...feature, state: "stale" })));
    expect(log.lines.filter(({ level }) => level !== "info")).toEqual([]);
  });

  test("shows nothing old when the server became another manager's", async () => {
    const first = make();
    await first.live.record(a.outcome(), null);
    first.store.close();
    const { live } = make([a.server({ manager: "rlm" })], open(first.store.directory));
    expect(live.snapshot().servers[0]).toMatchObject({ state: "failed", collectedAt: null, features: [] });
  });
});

describe("a poll", () => {
  test("is stored, then shown, then published", async () => {
    const { live, store, changes } = make();
    const before = live.snapshot();
    const stored: number[] = [];
    live.subscribe(() =>
      stored.push(Number(store.sqlite.query("SELECT count(*) FROM pictures").values()[0]?.[0])),
    );
    const after = await live.record(a.outcome(), a.NOON + 60_000);
    expect(after).toMatchObject({ state: "ok", status: "up", nextPollAt: a.NOON + 60_000 });
    expect(stored).toEqual([1]);
    expect(changes).toHaveLength(1);
    const [known = null] = before.servers;
    expect(changes[0]).toEqual({ server: a.server(), before: known, after, snapshot: live.snapshot() });
    expect(live.snapshot().version).toBe(before.version + 1);
    expect(live.snapshot().servers).toEqual([after]);
    expect(before.servers[0]?.state).toBe("failed");
  });

  test("that failed keeps the numbers as stale", async () => {
    const { live } = make();
    await live.record(a.outcome(), null);
    const after = await live.record(a.failedPoll(), null);
    expect(after).toMatchObject({ state: "stale", status: "down", collectedAt: a.NOON });
    expect(after.features[0]).toMatchObject({ state: "stale", used: 1 });
  });

  test("is merged with the previous one, in call order", async () => {
    const { live, changes } = make();
    await Promise.all(
      [1, 2, 3, 4].map((count) => {
        const features = [a.feature({ used: count, checkouts: [a.checkout({ count })] })];
        return live.record(a.outcome({ finishedAt: a.NOON + count, reading: a.reading({ features }) }), null);
      }),
    );
    expect(changes.map(({ after }) => after.features[0]?.used)).toEqual([1, 2, 3, 4]);
    expect(changes.slice(1).map(({ before }) => before)).toEqual(
      changes.slice(0, -1).map(({ after }) => after),
    );
  });

  test("of a server that was never configured is rejected", async () => {
    const { live } = make();
    await expect(live.record(a.outcome({ serverId: "nobody" }), null)).rejects.toThrow(/never configured/);
  });

  test("reaches every listener, even after one that throws, but none that unsubscribed", async () => {
    const { live, log, changes } = make();
    const told: string[] = [];
    const leave = live.subscribe(() => told.push("left"));
    live.subscribe(() => {
      throw new Error("listener");
    });
    live.subscribe(() => told.push("last"));
    leave();
    await live.record(a.outcome(), null);
    expect(told).toEqual(["last"]);
    expect(changes).toHaveLength(1);
    const fields = { server: "eda", error: "Error: listener" };
    expect(log.lines).toEqual([{ level: "error", message: "A listener to changes failed", fields }]);
  });
});

describe("a store that fails", () => {
  test("does not hide the numbers; the failure and its end are logged once", async () => {
    const { live, store, log, changes } = make();
    store.sqlite.run("PRAGMA query_only = ON");
    for (const n of [1, 2, 3]) await live.record(a.outcome({ finishedAt: a.NOON + n }), null);
    expect(live.snapshot().servers[0]).toMatchObject({ state: "ok", collectedAt: a.NOON + 3 });
    expect(changes).toHaveLength(3);
    expect(log.lines.map(({ level }) => level)).toEqual(["error"]);
    expect(log.lines[0]?.fields.error).toContain("cannot be written");
    expect(log.lines[0]?.fields.fix).not.toBeNull();
    store.sqlite.run("PRAGMA query_only = OFF");
    await live.record(a.outcome({ finishedAt: a.NOON + 4 }), null);
    expect(log.lines.map(({ message }) => message).slice(1)).toEqual(["Pictures are stored again"]);
    await live.stop();
    store.close();
    expect(make([a.server()], open(store.directory)).live.snapshot().servers[0]?.collectedAt).toBe(
      a.NOON + 4,
    );
  });

  test("that cannot be read when a server is added opens no session twice", async () => {
    const { live, store } = make([a.server()]);
    await live.record(a.outcome(), null);
    live.setServers([]);
    live.setServers([a.server()]);
    store.sqlite.run("ALTER TABLE sessions RENAME TO hidden");
    await live.record(a.outcome({ finishedAt: a.NOON + 60_000 }), null);
    expect(live.snapshot().servers[0]).toMatchObject({ state: "ok", collectedAt: a.NOON + 60_000 });
    store.sqlite.run("ALTER TABLE hidden RENAME TO sessions");
    await live.record(a.outcome({ finishedAt: a.NOON + 120_000 }), null);
    expect(store.sqlite.query("SELECT user, ended_at FROM sessions").values()).toEqual([["ann", null]]);
  });

  test("at the start is repaired by the first poll", async () => {
    const store = open(temporaryDirectory());
    store.sqlite.run("PRAGMA query_only = ON");
    const { live, log } = make([a.server()], store);
    store.sqlite.run("PRAGMA query_only = OFF");
    await live.record(a.outcome(), null);
    expect(log.lines.map(({ level }) => level)).toEqual(["error", "info"]);
    expect(store.sqlite.query("SELECT count(*) FROM pictures").values()).toEqual([[1]]);
  });
});

describe("aging", () => {
  test("makes numbers stale 2 × interval + timeout after the last good reading, and publishes it", async () => {
    const { live, clock, timers, changes } = make([a.server({ intervalMs: 10_000, timeoutMs: 5_000 })]);
    expect(timers.next()).toBeNull();
    await live.record(a.outcome(), null);
    expect(timers.next()).toBe(25_000);
    clock.advance(24_999);
    timers.fire();
    expect(shown(live)).toEqual([["eda", "ok"]]);
    expect(timers.next()).toBe(1);
    clock.advance(1);
    timers.fire();
    expect(shown(live)).toEqual([["eda", "stale"]]);
    expect(live.snapshot().servers[0]?.features[0]?.state).toBe("stale");
    expect(changes.map(({ before, after }) => [before?.state, after.state])).toEqual([
      ["failed", "ok"],
      ["ok", "stale"],
    ]);
    expect(timers.next()).toBeNull();
  });

  test("is checked within a minute, because the clock may be set", async () => {
    const { live, clock, timers } = make([a.server({ intervalMs: 3_600_000 })]);
    await live.record(a.outcome(), null);
    expect(timers.next()).toBe(60_000);
    clock.advance(8_000_000);
    timers.fire();
    expect(shown(live)).toEqual([["eda", "stale"]]);
  });

  test("waits for the next server only", async () => {
    const { live, clock, timers } = make([
      a.server({ id: "slow", intervalMs: 20_000, timeoutMs: 1_000 }),
      a.server({ id: "fast", intervalMs: 5_000, timeoutMs: 1_000 }),
    ]);
    await live.record(a.outcome({ serverId: "slow" }), null);
    await live.record(a.outcome({ serverId: "fast" }), null);
    expect(timers.next()).toBe(11_000);
    clock.advance(11_000);
    timers.fire();
    expect(shown(live)).toEqual([
      ["slow", "ok"],
      ["fast", "stale"],
    ]);
    expect(timers.next()).toBe(30_000);
  });

  test("applies to readings that are already old when they arrive", async () => {
    const { live, clock } = make();
    clock.advance(1_000_000);
    expect((await live.record(a.outcome(), null)).state).toBe("stale");
  });
});

describe("a reload", () => {
  test("adds, removes and sorts servers, and keeps the numbers of those that stay", async () => {
    const { live, changes } = make([a.server({ id: "a" }), a.server({ id: "b" })]);
    const kept = await live.record(a.outcome({ serverId: "b" }), null);
    const version = live.snapshot().version;
    live.setServers([a.server({ id: "c" }), a.server({ id: "b" })]);
    expect(shown(live)).toEqual([
      ["c", "failed"],
      ["b", "ok"],
    ]);
    expect(live.snapshot().servers[1]).toBe(kept);
    expect(live.snapshot().version).toBe(version + 1);
    expect(changes.slice(1).map(({ server, before }) => [server.id, before])).toEqual([["c", null]]);
  });

  test.each([
    ["a new name", "ok", 1, { name: "other" }],
    ["new labels", "ok", 1, { labels: { site: "muc" } }],
    ["a new address", "stale", 1, { address: "27000@lic9" }],
    ["another manager", "failed", 0, { manager: "rlm" }],
  ] as const)("with %s makes the numbers %s", async (_, state, features, change) => {
    const { live } = make();
    await live.record(a.outcome(), null);
    live.setServers([a.server(change)]);
    expect(shown(live)).toEqual([["eda", state]]);
    expect(live.snapshot().servers[0]?.server).toEqual(a.server(change));
    expect(live.snapshot().servers[0]?.features).toHaveLength(features);
  });

  test("that disables a server removes its next poll", async () => {
    const { live } = make();
    await live.record(a.outcome(), a.NOON + 60_000);
    live.setServers([a.server({ enabled: false })]);
    expect(live.snapshot().servers[0]?.nextPollAt).toBeNull();
  });

  test("while a poll is being stored: removed servers stay removed, and changes are kept", async () => {
    const { live, changes } = make([a.server({ id: "gone" }), a.server({ id: "renamed" })]);
    const polls = ["gone", "renamed"].map((serverId) => live.record(a.outcome({ serverId }), null));
    await Promise.resolve();
    live.setServers([a.server({ id: "renamed", name: "new name" })]);
    const [gone] = await Promise.all(polls);
    expect(gone?.state).toBe("ok");
    expect(shown(live)).toEqual([["renamed", "ok"]]);
    expect(live.snapshot().servers[0]?.server.name).toBe("new name");
    expect(changes.filter(({ server }) => server.id === "gone")).toEqual([]);
    expect((await live.record(a.outcome({ serverId: "gone" }), null)).server.id).toBe("gone");
    expect(shown(live)).toEqual([["renamed", "ok"]]);
  });

  test("stores until when a removed server was configured", async () => {
    const { live, store, clock } = make([a.server({ id: "a" }), a.server({ id: "b" })]);
    clock.advance(500);
    live.setServers([a.server({ id: "b" })]);
    clock.advance(500);
    await live.stop();
    const seen = createServers({ store, clock }).list();
    expect(seen.map(({ id, firstSeen, lastConfigured }) => [id, firstSeen, lastConfigured])).toEqual([
      ["a", a.NOON, a.NOON + 500],
      ["b", a.NOON, a.NOON + 1_000],
    ]);
  });
});

const MINUTE = 60_000;
const seat = (user: string, startedAt: number | null = null) => a.checkout({ user, handle: user, startedAt });
/** Creates a poll with these checkouts. */
const poll = (at: number, checkouts: ReturnType<typeof seat>[], serverId = "eda") => {
  const features = [a.feature({ name: "solver", used: checkouts.length, checkouts })];
  return a.outcome({ serverId, startedAt: at - 100, finishedAt: at, reading: a.reading({ features }) });
};

const sessionsIn = (store: Store, times = "began_at AS beganAt, last_seen_at AS seenAt") =>
  store.sqlite
    .query<Record<string, unknown>, []>(
      `SELECT user, ${times}, ended_at AS endedAt, end_reason AS reason FROM sessions ORDER BY id`,
    )
    .all();

describe("a server that is removed from the config", () => {
  const EDA = a.server();
  const CAD = a.server({ id: "cad" });

  test("by a reload ends its sessions when they were last seen, and no others", async () => {
    const { live, store, told, log } = make([EDA, CAD]);
    await live.record(poll(a.NOON, [seat("ada")]), null);
    await live.record(poll(a.NOON, [seat("eve")], "cad"), null);
    await live.record(poll(a.NOON + MINUTE, [seat("ada"), seat("bob")]), null);
    told.length = 0;
    live.setServers([CAD]);
    await live.stop();
    const end = { seenAt: a.NOON + MINUTE, endedAt: a.NOON + MINUTE, reason: "unobserved" };
    expect(sessionsIn(store)).toEqual([
      { user: "ada", beganAt: a.NOON, ...end },
      { user: "eve", beganAt: a.NOON, seenAt: a.NOON, endedAt: null, reason: null },
      { user: "bob", beganAt: a.NOON + MINUTE, ...end },
    ]);
    expect(told).toEqual([]);
    expect(log.lines.map(({ fields }) => fields)).toContainEqual({ server: "eda", sessions: 2 });
  });

  test("while the store fails ends its sessions when the store works again", async () => {
    const { live, store, log } = make([EDA, CAD]);
    await live.record(poll(a.NOON, [seat("ada")]), null);
    await live.record(poll(a.NOON, [], "cad"), null);
    store.sqlite.run("PRAGMA query_only = ON");
    live.setServers([CAD]);
    await live.record(poll(a.NOON + MINUTE, [], "cad"), null);
    store.sqlite.run("PRAGMA query_only = OFF");
    expect(sessionsIn(store)).toMatchObject([{ user: "ada", endedAt: null }]);
    await live.record(poll(a.NOON + 2 * MINUTE, [], "cad"), null);
    await live.stop();
    expect(sessionsIn(store)).toMatchObject([{ user: "ada", endedAt: a.NOON, reason: "unobserved" }]);
    expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  });

  test("during a poll leaves no session open", async () => {
    const { live, store } = make([EDA]);
    const first = live.record(poll(a.NOON, [seat("ada")]), null);
    live.setServers([]);
    await first;
    await live.stop();
    expect(sessionsIn(store).filter(({ endedAt }) => endedAt === null)).toEqual([]);
  });

  test("and returns at once keeps its sessions", async () => {
    const { live, store } = make([EDA]);
    await live.record(poll(a.NOON, [seat("ada")]), null);
    live.setServers([]);
    live.setServers([EDA]);
    await live.record(poll(a.NOON + MINUTE, [seat("ada")]), null);
    await live.record(poll(a.NOON + 2 * MINUTE, []), null);
    await live.stop();
    const times = { beganAt: a.NOON, seenAt: a.NOON + MINUTE, endedAt: a.NOON + 2 * MINUTE };
    expect(sessionsIn(store)).toEqual([{ user: "ada", ...times, reason: "checkin" }]);
  });

  test.each(["as the picture knows", "as the last reading was, without a picture"])(
    "while no process runs ends its sessions at the next start, %s",
    async (how) => {
      const first = make([EDA]);
      await first.live.record(poll(a.NOON, [seat("ada")]), null);
      await first.live.record(poll(a.NOON + 5 * MINUTE, [seat("ada")]), null);
      await first.live.stop();
      if (how.includes("without")) {
        first.store.sqlite.run("DELETE FROM pictures");
        first.store.sqlite.run("INSERT INTO coverage VALUES ('eda', ?1, ?2, ?2, 1, 2)", [
          a.NOON,
          a.NOON + 5 * MINUTE,
        ]);
      }
      first.store.close();
      const { store } = make([CAD], open(first.store.directory));
      const seenAt = a.NOON + 5 * MINUTE;
      expect(sessionsIn(store)).toEqual([
        { user: "ada", beganAt: a.NOON, seenAt, endedAt: seenAt, reason: "unobserved" },
      ]);
    },
  );

  test.each([false, true])(
    "and added again counts no user twice (another process: %p)",
    async (restarted) => {
      // Both checkouts are older than the first poll.
      const held = [seat("ada", a.NOON - 90 * MINUTE), seat("bob", a.NOON - 30 * MINUTE)];
      const first = make([EDA]);
      first.store.sqlite.run(
        "INSERT INTO history_features (server_id, daemon, name) VALUES ('eda', ?, 'solver')",
        [a.feature().daemon],
      );
      await first.live.record(poll(a.NOON, held), null);
      first.live.setServers([]);
      await first.live.stop();
      if (restarted) first.store.close();
      const { live, store } = restarted ? make([], open(first.store.directory)) : first;
      live.setServers([EDA]);
      const back = a.NOON + 60 * MINUTE;
      await live.record(poll(back, [...held, seat("eve", back - MINUTE)]), null);
      await live.stop();
      const ended = { seenAt: a.NOON, endedAt: a.NOON, reason: "unobserved" };
      const open_ = { seenAt: back, endedAt: null, reason: null };
      expect(sessionsIn(store)).toEqual([
        { user: "ada", beganAt: a.NOON - 90 * MINUTE, ...ended },
        { user: "bob", beganAt: a.NOON - 30 * MINUTE, ...ended },
        { user: "ada", beganAt: back, ...open_ },
        { user: "bob", beganAt: back, ...open_ },
        { user: "eve", beganAt: back - MINUTE, ...open_ },
      ]);
    },
  );
});

test("stop ends the timer and waits for running writes", async () => {
  const { live, store, timers } = make();
  await live.record(a.outcome(), null);
  const last = live.record(a.outcome({ finishedAt: a.NOON + 5 }), null);
  await live.stop();
  store.close();
  expect(timers.next()).toBeNull();
  expect((await last).collectedAt).toBe(a.NOON + 5);
  const { live: again } = make([a.server()], open(store.directory));
  expect(again.snapshot().servers[0]?.collectedAt).toBe(a.NOON + 5);
});

describe("the events of a poll", () => {
  const held = (minute: number, users: readonly string[]) =>
    poll(
      a.NOON + minute * MINUTE,
      users.map((user) => seat(user)),
    );
  const texts = (events: readonly EventInput[]) =>
    events.map((event) => {
      if (event.type === "server_status") return `${event.daemon ?? event.server} ${event.from} ${event.to}`;
      return "user" in event ? `${event.type} ${event.user}` : event.type;
    });

  test("checkouts, checkins and status changes, but not those of the first reading", async () => {
    const { live, told } = make();
    await live.record(held(0, ["ann"]), null);
    await live.record(held(1, ["ann", "bob"]), null);
    await live.record(a.failedPoll({ finishedAt: a.NOON + 2 * MINUTE }), null);
    await live.record(held(3, ["bob"]), null);
    const seats = ["eda unknown up", "checkout bob", "eda up down", "eda down up", "checkin ann"];
    expect(texts(told)).toEqual(seats);
    expect(told.at(-1)).toMatchObject({
      endReason: "server_restart",
      lastSeenAt: new Date(a.NOON + MINUTE).toISOString(),
      endedAt: new Date(a.NOON + 3 * MINUTE).toISOString(),
    });
  });

  test("a restart resumes the open sessions and announces none twice", async () => {
    const first = make();
    await first.live.record(held(0, ["ann", "bob"]), null);
    await first.live.record(held(1, ["ann", "bob"]), null);
    await first.live.stop();
    first.store.close();

    const { live, told } = make([a.server()], open(first.store.directory));
    const [eda] = live.snapshot().servers;
    expect(eda?.features[0]?.checkouts[0]?.firstSeenAt).toBe(a.NOON);
    await live.record(held(2, ["ann"]), null);
    const lastSeenAt = new Date(a.NOON + MINUTE).toISOString();
    expect(told).toMatchObject([{ type: "checkin", user: "bob", endReason: "checkin", lastSeenAt }]);
  });

  test("a session's first sight stays with its row from poll to poll", async () => {
    const { live } = make();
    await live.record(held(0, ["ann"]), null);
    const picture = await live.record(held(7, ["ann", "bob"]), null);
    expect(picture.features[0]?.checkouts.map(({ firstSeenAt }) => firstSeenAt)).toEqual([
      a.NOON,
      a.NOON + 7 * MINUTE,
    ]);
  });
});
