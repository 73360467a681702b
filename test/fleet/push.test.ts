import { afterEach, describe, expect, test } from "bun:test";
import type { FleetSettings } from "../../src/config/config.ts";
import { DAY_MS } from "../../src/domain/time/clock.ts";
import { createSessions } from "../../src/history/sessions/sessions.ts";
import { installationSecret } from "../../src/store/secrets.ts";
import * as a from "../domain/make.ts";
import { cleanUp, temporaryDirectory } from "../store/place.ts";
import { until } from "../until.ts";
import { createFakeHub, type Epoch, type FakeHub } from "./fake-hub.ts";
import { checkouts, createSiteRig, type SiteRig } from "./rig.ts";

const ending: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end();
  cleanUp();
});

/**
 * Starts a hub and a site, and waits until the site has sent its past. With `prepare`, which changes the
 * hub before, it does not wait.
 */
async function joined(
  change: Partial<FleetSettings> = {},
  prepare?: (hub: FakeHub) => unknown,
): Promise<{ hub: FakeHub; site: SiteRig }> {
  const hub = createFakeHub();
  await prepare?.(hub);
  const site = await createSiteRig(hub, change);
  ending.push(hub.stop, () => site[Symbol.asyncDispose]());
  if (prepare === undefined) await site.told();
  return { hub, site };
}

const messages = ({ log }: SiteRig, start: string) =>
  log.lines.filter(({ message }) => message.startsWith(start));

async function polls(site: SiteRig, count: number): Promise<void> {
  for (let poll = 0; poll < count; poll++) await site.poll(USERS.slice(poll % 4));
}

function stored({ rig: { store } }: SiteRig) {
  const all = <Row>(sql: string) => store.sqlite.query<Row, []>(sql).all();
  const sessions = all<{ id: number }>(
    `SELECT id, server_id AS server, daemon, feature, user, host, version, count, handle, started_at AS startedAt,
       began_at AS beganAt, first_seen_at AS firstSeenAt, last_seen_at AS lastSeenAt, ended_at AS endedAt, end_reason AS endReason
     FROM sessions ORDER BY id`,
  );
  const coverage = all<{ running: number }>(
    'SELECT server_id AS server, from_at AS "from", read_at AS readAt, until_at AS until, running, looks FROM coverage ORDER BY from_at',
  ).map((row) => ({ ...row, running: row.running === 1 }));
  const statuses = all(
    `SELECT server_id AS server, from_at AS "from", status, reason, read_at AS readAt, until_at AS until, next_by AS nextBy
     FROM server_statuses ORDER BY from_at`,
  );
  const steps = all<{ unlimited: number }>(
    "SELECT at, total, used, reserved, queued, unlimited FROM samples ORDER BY at",
  ).map((row) => ({ ...row, unlimited: row.unlimited === 1 }));
  return { sessions, coverage, statuses, steps };
}

function known({ sessions, coverage, statuses, steps }: Epoch) {
  return {
    sessions: [...sessions.values()].sort((x, y) => x.id - y.id),
    coverage: [...coverage.values()].sort((x, y) => x.from - y.from),
    statuses: [...statuses.values()].sort((x, y) => x.from - y.from),
    steps: [...steps.values()].flatMap((each) => [...each.values()]).sort((x, y) => x.at - y.at),
  };
}

/** Checks that the hub has the site's rows, and received each fact once and in order. */
function expectSame(site: SiteRig, hub: FakeHub): void {
  expect(hub.problems).toEqual([]);
  const epoch = hub.latest();
  expect(known(epoch)).toEqual(stored(site) as ReturnType<typeof known>);
  const seqs = epoch.facts.map(({ seq }) => seq);
  expect(seqs).toEqual([...new Set(seqs)].sort((x, y) => x - y));
}

/** Waits until the site has sent everything under another epoch. */
async function newEpoch(site: SiteRig, hub: FakeHub, first: string | undefined): Promise<void> {
  await until("another epoch", () => hub.pushes.at(-1)?.epoch !== first || undefined);
  await site.told();
}

const USERS = ["ann", "ben", "cy", "dora"];

test("a hub receives the stored rows unchanged", async () => {
  const { hub, site } = await joined();
  await site.poll(["ann", "ben"]);
  await site.poll(["ann"]);
  await site.told();
  await site.poll(["ann", "cy"]);
  const { error } = a.failedPoll();
  await site.poll([], { reading: null, error: error && { ...error, details: "secret words" } });
  await site.told();
  await until("the newest picture", () => hub.pictures.get("eda")?.head.error ?? undefined);
  expectSame(site, hub);
  const changes = hub
    .latest()
    .facts.flatMap((fact) =>
      fact.kind === "session" ? [`${fact.change} ${fact.user} ${fact.announced}`] : [],
    );
  expect(changes).toEqual(expect.arrayContaining(["ended ben false", "opened cy true"]));
  expect(hub.pictures.get("eda")).toMatchObject({
    head: {
      status: "down",
      error: { code: "LICENSE_SERVER_UNREACHABLE", details: null },
      server: { id: "eda", tool: null, secretFile: null, caFile: null },
    },
  });
  expect(JSON.stringify(hub.pushes)).not.toContain("secret words");
  // Displays may contain names, so the site must not send them.
  expect(JSON.stringify(hub.pushes)).not.toContain('"display":":0"');
});

describe("each fact comes once and in order", () => {
  const busy = { message: "busy" };
  const FAULTS = {
    "lost answers": (at: number) => (at % 2 === 1 ? "lost" : null),
    "cut connections": (at: number) => (at % 3 === 1 ? "cut" : null),
    "503, with Retry-After": (at: number) =>
      at % 3 === 1 ? { status: 503, headers: { "retry-after": "1" }, body: busy } : null,
    "429, with a date": (at: number) =>
      at % 3 === 2
        ? { status: 429, headers: { "retry-after": new Date(a.NOON + 600_000).toUTCString() }, body: busy }
        : null,
    "500 without JSON": (at: number) => (at % 4 === 1 ? { status: 500 } : null),
  } as const;

  test.each(Object.entries(FAULTS))("with %s", async (_, fault) => {
    const { hub, site } = await joined();
    hub.faults((_push, at) => fault(at));
    await polls(site, 12);
    await site.told();
    for (let poll = 0; poll < 12; poll++) await site.poll(USERS.slice(0, poll % 4));
    await site.told();
    expectSame(site, hub);
  });

  test("across killed processes and a broken line", async () => {
    const { hub, site } = await joined();
    for (let round = 0; round < 6; round++) {
      hub.faults((_push, at) => (at % 4 === 2 ? "lost" : null));
      for (let poll = 0; poll < 4; poll++) await site.poll(USERS.slice(poll));
      if (round % 2 === 0) await hub.down();
      await site.poll(["eve"]);
      await site.restart();
      await site.poll(["eve", "ann"]);
      if (round % 2 === 0) hub.up();
    }
    hub.faults(() => null);
    await site.told();
    expectSame(site, hub);
  });

  test("in several pushes when many facts wait", async () => {
    const { hub, site } = await joined();
    await hub.down();
    const sessions = createSessions(site.rig.store);
    const { store } = site.rig;
    const nothing = { qualifier: null, version: null, handle: null, endedAt: null, endReason: null };
    const times = { startedAt: null, beganAt: a.NOON, firstSeenAt: a.NOON, lastSeenAt: a.NOON };
    const words = { server: "eda", daemon: "d", host: "h", display: "a".repeat(50), count: 1, ...nothing };
    for (let id = 1; id <= 9_000; id += 500) {
      const opened = Array.from({ length: 500 }, (_, at) => {
        return { id: id + at, feature: `f${(id + at) % 9}`, user: `u${id + at}`, ...words, ...times };
      });
      store.transaction(() => sessions.write({ opened, closed: [], changed: [], announce: true }));
    }
    hub.faults((_push, at) => (at % 2 === 0 ? "lost" : null));
    hub.up();
    await site.told();
    expectSame(site, hub);
    expect(hub.latest().facts).toHaveLength(9_000);
    expect(Math.max(...hub.pushes.map(({ facts }) => facts.length))).toBeLessThanOrEqual(2_000);
  });
});

describe("a hub whose database was restored", () => {
  type Epochs = Map<string, Epoch>;
  const keepFive = (epochs: Epochs) => {
    for (const epoch of epochs.values()) {
      epoch.facts.splice(5);
      epoch.cursor = epoch.facts.at(-1)?.seq ?? 0;
    }
  };
  const CASES: Record<string, (hub: FakeHub, site: SiteRig) => unknown> = {
    "to an empty state": (hub) => hub.forget((epochs) => epochs.clear()),
    "to a state whose facts are deleted at the site": (hub, { rig }) => {
      // The site deletes acknowledged facts after an hour.
      rig.store.sqlite.run("DELETE FROM fleet_outbox");
      hub.forget(keepFive);
    },
    "and is ahead of the site, because the site was restored too": (hub, site) => {
      hub.forget((epochs: Epochs) => {
        for (const epoch of epochs.values()) epoch.cursor += 1_000;
      });
      return site.restart();
    },
  };

  test.each(Object.entries(CASES))("%s receives everything again, under a new epoch", async (_, restore) => {
    const { hub, site } = await joined();
    await polls(site, 8);
    await site.told();
    const first = hub.pushes.at(-1)?.epoch;
    await restore(hub, site);
    await newEpoch(site, hub, first);
    expectSame(site, hub);
  });

  test("to an earlier state receives the lost facts again", async () => {
    const { hub, site } = await joined();
    await polls(site, 8);
    await site.told();
    const before = hub.latest().facts.length;
    hub.forget(keepFive);
    await site.poll(["zoe"]);
    await site.told();
    expect(hub.latest().facts.length).toBeGreaterThan(before);
    expectSame(site, hub);
    expect(messages(site, "The hub lost facts; resending them")).toHaveLength(1);
    // The hub also lost its pictures, so it requests complete ones.
    await until("a whole picture", () => hub.pictures.has("eda") || undefined);
  });
});

describe("a picture", () => {
  const many = (users: number) =>
    Array.from({ length: 100 }, (_, at) =>
      a.feature({
        name: `f${at}`,
        used: users,
        total: 200,
        checkouts: checkouts(Array.from({ length: users }, (_, user) => `user${user}`)),
      }),
    );
  const names = (hub: FakeHub) => hub.pictures.get("eda")?.order.map((key) => key.split("\0")[1]);

  test("too large for one push is split, and then only changes are sent", async () => {
    const { hub, site } = await joined();
    const features = many(100);
    await site.poll([], { reading: a.reading({ features }) });
    await until("all of it", () => names(hub)?.length === 100 || undefined);
    const states = () =>
      hub.pushes.flatMap((push) => push.states.flatMap((each) => (each.kind === "picture" ? each : [])));
    expect(states().some(({ more }) => more)).toBe(true);
    const before = states().length;
    // Among the hundred features, the last has another count, the first is gone, and a new one precedes them.
    const next = [
      a.feature({ name: "new" }),
      ...features.slice(1, 99),
      a.feature({ name: "f99", used: 0, checkouts: [] }),
    ];
    await site.poll([], { reading: a.reading({ features: next }) });
    await site.poll([], { reading: a.reading({ features: next }) });
    await until("the change", () => names(hub)?.[0] === "new" || undefined);
    await until("f0 is gone", () => (names(hub)?.includes("f0") ? undefined : true));
    const sent = states()
      .slice(before)
      .flatMap(({ features: each }) => each.map(({ name }) => name));
    // f0 may appear, because the first of the two polls made it stale.
    expect(new Set(sent).difference(new Set(["f0"]))).toEqual(new Set(["new", "f99"]));
    const [picture] = site.rig.live().snapshot().servers;
    expect(names(hub)).toEqual(picture?.features.map(({ name }) => name));
    expect(hub.pictures.get("eda")?.features.get("snpslmd\0f99")).toMatchObject({ used: 0, checkouts: [] });
    expect(hub.problems).toEqual([]);
  });

  test("that is rebuilt after a lost answer has a new number", async () => {
    const { hub, site } = await joined();
    await site.poll(USERS);
    await site.told();
    hub.faults((push) => (push.states.some(({ kind }) => kind === "picture") ? "lost" : null));
    await site.poll(["ann", "ben"]);
    const used = () => hub.pictures.get("eda")?.features.get("snpslmd\0compiler")?.used;
    await until("the hub has it, and the site does not know", () => used() === 2 || undefined);
    await site.poll(["ann"]);
    hub.faults(() => null);
    await site.told();
    await until("the newest is there", () => used() === 1 || undefined);
  });

  test("that the hub lacks is sent whole", async () => {
    const { hub, site } = await joined();
    await site.poll(USERS);
    await until("it is there", () => hub.pictures.has("eda") || undefined);
    hub.pictures.clear();
    await site.poll(["ann"]);
    await until("it is there again", () => hub.pictures.has("eda") || undefined);
    expect(hub.pictures.get("eda")?.features.get("snpslmd\0compiler")).toMatchObject({ used: 1 });
  });
});

describe("rows that are not sent as facts are sent as days", () => {
  test("the past, when a site joins", async () => {
    const { hub, site } = await joined({}, (down) => down.down());
    await polls(site, 5);
    site.rig.clock.time += 2 * 86_400_000;
    site.rig.history().packAll();
    // Act as if these rows were stored before the site joined a fleet: they are not in the outbox.
    await site.site.stop();
    site.rig.store.sqlite.run(
      "DELETE FROM fleet_outbox; DELETE FROM fleet_marks; DELETE FROM dirty WHERE kind LIKE 'hub%';",
    );
    hub.up();
    await site.restart();
    await site.told();
    expect(hub.problems).toEqual([]);
    const { steps: _, ...rows } = known(hub.latest());
    const { steps: __, ...own } = stored(site);
    expect(rows).toEqual(own as typeof rows);
    const packed = site.rig.store.sqlite
      .query<{ data: Uint8Array }, []>("SELECT data FROM packed_days WHERE kind = 'rollups'")
      .all();
    expect(
      [...hub.latest().packed].filter(([key]) => key.startsWith("rollups")).map(([, data]) => data),
    ).toEqual(packed.map(({ data }) => Buffer.from(data).toString("base64")));
    expect([...hub.latest().users.values()].sort()).toEqual(USERS);
    expect(hub.latest().steps.size).toBe(1);
  });

  test("a day is read again after a lost answer, because facts were stored meanwhile", async () => {
    let stage: "answer lost" | "line cut" | "lost again" | "fine" = "answer lost";
    const fault = (push: { days: readonly unknown[] }) => {
      if (stage === "line cut") return "cut";
      if (stage === "fine" || push.days.length === 0) return null;
      stage = stage === "answer lost" ? "line cut" : "fine";
      return "lost";
    };
    const { hub, site } = await joined({}, (faulty) => faulty.faults(fault));
    await site.poll(["ann"]);
    await until("the hub has the days, and the site does not know", () => stage === "line cut" || undefined);
    await site.poll(["ann", "ben"]);
    stage = "lost again";
    await site.told();
    expectSame(site, hub);
  });

  test("dropped facts", async () => {
    const { hub, site } = await joined({ outboxBytes: 2_000 });
    await site.poll(USERS);
    await site.told();
    await hub.down();
    await until("the line is down", () => site.site.status().state === "unreachable" || undefined);
    await polls(site, 40);
    await until("they are dropped", () => messages(site, "Too many facts are waiting").at(0));
    const { dropped, failures } = site.site.status();
    expect([dropped, failures > 0]).toEqual([true, true]);
    hub.up();
    await site.told();
    expect(site.site.status()).toMatchObject({ dropped: false, waitingFacts: 0, waitingBytes: 0 });
    expect(hub.pushes.some(({ gap }) => gap)).toBe(true);
    expectSame(site, hub);
  });

  test("dropped facts about sessions that began earlier", async () => {
    const { hub, site } = await joined({ outboxBytes: 1_000 });
    const yesterday = site.rig.clock.time + 60_000;
    await site.poll(USERS);
    await site.told();
    // The outbox is empty when the next day begins.
    site.rig.clock.time = Math.ceil(site.rig.clock.time / DAY_MS) * DAY_MS + 1;
    const contact = () => (site.site.status().lastContactAt ?? 0) >= site.rig.clock.time || undefined;
    await until("the hub hears of it", contact);
    await hub.down();
    await polls(site, 40);
    await until("they are dropped", () => site.site.status().dropped || undefined);
    hub.up();
    await site.told();
    expect([...hub.latest().coverage.values()].map(({ from }) => from)).toContain(yesterday);
    expectSame(site, hub);
  });

  test("a session whose end was dropped ends at the hub", async () => {
    const { hub, site } = await joined({ outboxBytes: 1_000 });
    await site.poll(USERS);
    await site.told();
    await hub.down();
    for (let poll = 0; poll < 40; poll++) await site.poll(poll % 2 === 0 ? ["ann"] : USERS);
    await site.poll(["ann"]);
    hub.up();
    await site.told();
    const open = (rows: Iterable<{ endedAt: number | null; user: string | null }>) =>
      [...rows].filter(({ endedAt }) => endedAt === null).map(({ user }) => user);
    expect(open(hub.latest().sessions.values())).toEqual(["ann"]);
    expectSame(site, hub);
  });
});

test("a second process of the site is detected, and waits", async () => {
  const { hub, site } = await joined();
  hub.hears("0000000000000000");
  await until("a conflict", () => site.site.status().state === "conflict" || undefined);
  await site.poll(USERS);
  expect(messages(site, "Another licmond pushes")).toHaveLength(1);
  hub.hears(null);
  await site.told();
  expectSame(site, hub);
});

test("a refusal is logged once, and the push is retried", async () => {
  const { hub, site } = await joined();
  hub.faults(() => ({ status: 403, body: { message: "The key lmk_test is bound to the site blr." } }));
  await until("it is refused", () => site.site.status().state === "refused" || undefined);
  expect(site.site.status().problem).toBe("It answered 403: The key *** is bound to the site blr.");
  hub.faults(() => null);
  await site.told();
  expect(messages(site, "The hub refuses")).toHaveLength(1);
});

describe("people", () => {
  const usersAt = (hub: FakeHub) => new Set([...hub.latest().sessions.values()].map(({ user }) => user));
  const keyFile = async (byte: number) => {
    const file = `${temporaryDirectory()}/people.key`;
    await Bun.write(file, `${Buffer.alloc(32, byte).toString("base64")}\n`);
    return file;
  };

  test("are sent as pseudonyms under the sites' key", async () => {
    const { hub, site } = await joined({ people: "pseudonyms", peopleKeyFile: await keyFile(7) });
    await site.poll(USERS);
    await site.poll(["ann"]);
    await site.told();
    expect(hub.problems).toEqual([]);
    const said = JSON.stringify(hub.pushes);
    for (const name of [...USERS, "ws1"]) expect(said).not.toContain(`"${name}"`);
    const users = usersAt(hub);
    expect(users.size).toBe(USERS.length);
    // With another key, people have other pseudonyms, so the site sends everything again.
    const epoch = hub.pushes.at(-1)?.epoch;
    await site.restart({ peopleKeyFile: await keyFile(8) });
    await newEpoch(site, hub, epoch);
    expect(usersAt(hub).size).toBe(USERS.length);
    expect(usersAt(hub).intersection(users).size).toBe(0);
    expect(messages(site, "People are named differently at the hub from now on")).toHaveLength(1);
  });

  test("have one pseudonym at sites that share a key, and the key is not sent", async () => {
    const shared = await keyFile(7);
    const said: Set<string | null>[] = [];
    for (const peopleKeyFile of [shared, shared, null, null]) {
      const { hub, site } = await joined({ people: "pseudonyms", peopleKeyFile });
      await site.poll(USERS);
      await site.told();
      said.push(usersAt(hub));
      const own = installationSecret(site.rig.store);
      const pushed = JSON.stringify(hub.pushes);
      for (const key of [own, Buffer.alloc(32, 7), Buffer.from(Buffer.alloc(32, 7).toString("base64"))])
        for (const form of ["hex", "base64", "latin1"] as const)
          expect(pushed).not.toContain(Buffer.from(key).toString(form));
    }
    const [first, second, third, fourth] = said as [Set<string>, Set<string>, Set<string>, Set<string>];
    expect(first).toEqual(second);
    expect(first.size).toBe(USERS.length);
    expect(first.union(third).union(fourth).size).toBe(3 * USERS.length);
  });

  test.each(["names", "pseudonyms", "counts"] as const)(
    "without a name, and assigned ones, are sent as %s",
    async (people) => {
      const { hub, site } = await joined({ people });
      const seat = { user: null, host: null, startedAt: null };
      const features = [
        a.feature({
          ...{ unit: "tokens", seatGroup: "common", used: 2 },
          checkouts: [a.checkout(seat), a.checkout({ ...seat, user: "bob", handle: "102" })],
          queue: [{ ...a.checkout(seat), count: 2 }],
          assigned: [{ user: "zoe", host: "ws7", since: null }],
        }),
      ];
      await site.poll([], { reading: a.reading({ features }) });
      await site.poll([], { reading: a.reading({ features: [a.feature({ checkouts: [] })] }) });
      await site.poll([], { reading: a.reading({ features }) });
      await site.told();
      const shown = await until("the newest picture", () => {
        const found = hub.pictures.get("eda")?.features.get("snpslmd\0compiler");
        return found?.unit === "tokens" ? found : undefined;
      });
      expect(hub.problems).toEqual([]);
      expect(shown).toMatchObject({ unit: "tokens", seatGroup: "common", used: 2 });
      const users = [...hub.latest().sessions.values()].map(({ user }) => user);
      const said = JSON.stringify(hub.pushes);
      expect(said.includes('"zoe"')).toBe(people === "names");
      expect(said.includes('"bob"')).toBe(people === "names");
      if (people === "counts") {
        expect([users.length, shown.assigned, said.includes('"user"')]).toEqual([0, undefined, false]);
        expect(known(hub.latest()).steps).toEqual(stored(site).steps as ReturnType<typeof known>["steps"]);
      } else {
        expect(users.filter((user) => user === null)).toHaveLength(2);
        expect(new Set(users).size).toBe(2);
        expect(shown.assigned).toHaveLength(1);
      }
    },
  );

  test.each([
    ["is not there", null, "The people_key_file cannot be read (ENOENT)"],
    ["is empty", "", "The people_key_file is empty"],
    ["is short", "secret\n", "The people_key_file must contain at least 32 random bytes in base64 or hex"],
    [
      "is not text",
      "\xff".repeat(64),
      "The people_key_file must contain at least 32 random bytes in base64 or hex",
    ],
  ])("are not sent while the key of pseudonyms %s", async (_, content, problem) => {
    const file = `${temporaryDirectory()}/people.key`;
    if (content !== null) await Bun.write(file, Buffer.from(content, "latin1"));
    const { hub, site } = await joined({ people: "pseudonyms", peopleKeyFile: file }, () => {});
    await site.poll(USERS);
    const status = await until("it says why", () =>
      site.site.status().problem === null ? undefined : site.site.status(),
    );
    expect(status.problem).toContain(problem);
    expect(hub.pushes.every(({ hello }) => hello)).toBe(true);
    await Bun.write(file, `${"0123456789abcdef".repeat(4)}\n`);
    await site.told();
    expect(usersAt(hub).size).toBe(USERS.length);
  });
});

describe("commands of the hub", () => {
  const by = { key: "k1", name: "Ada", role: "operator" } as const;
  const outcomes = (hub: FakeHub) =>
    hub
      .latest()
      .facts.flatMap((fact) =>
        fact.kind === "outcome" ? [`${fact.command} ${fact.outcome} ${fact.code}`] : [],
      );

  test("run once, and their outcome is a fact", async () => {
    const { hub, site } = await joined();
    hub.command(
      { command: "acknowledge", id: "c1", by, expiresInMs: 60_000, alert: 1, comment: null },
      { command: "rescan", id: "c2", by, expiresInMs: 60_000, servers: null },
      {
        command: "execute",
        id: "c3",
        by,
        expiresInMs: 60_000,
        name: "status",
        server: null,
        args: {},
        timeoutMs: null,
      },
      { command: "rescan", id: "c4", by, expiresInMs: 0, servers: null },
    );
    await until("their outcomes", () => outcomes(hub).length >= 3 || undefined);
    // The hub sends the same commands with each answer, and also to the next process.
    await site.restart();
    await site.poll(USERS);
    await site.told();
    expect(outcomes(hub).sort()).toEqual([
      "c1 done null",
      "c2 failed TIMEOUT",
      "c3 refused AUTH_INSUFFICIENT",
    ]);
    expect(site.done).toEqual(["acknowledge c1", "rescan c2"]);
  });

  test("run a tool where the site allows it", async () => {
    const { hub, site } = await joined({ allow: ["execute"] });
    hub.command({
      ...{ command: "execute", id: "c1", by, expiresInMs: 60_000, name: "status", server: null },
      ...{ args: {}, timeoutMs: null },
    });
    await until("its outcome", () => outcomes(hub).length >= 2 || undefined);
    expect(outcomes(hub)).toEqual(["c1 begun null", "c1 done null"]);
    expect(site.done).toEqual(["execute c1"]);
  });
});

describe("a farewell", () => {
  const stops = (hub: FakeHub) => hub.pushes.filter((push) => push.stops);

  test("is the last push, and another process may push at once", async () => {
    const { hub, site } = await joined();
    await site.poll(["ada"]);
    await site.told();
    await site.site.stop();
    expect(stops(hub)).toHaveLength(1);
    const last = hub.pushes.at(-1);
    expect(last).toMatchObject({ stops: true, facts: [], states: [] });
    await site.restart();
    await site.told();
    expect(hub.pushes.at(-1)?.instance).not.toBe(last?.instance);
  });

  test("is not sent to a hub that was never reached", async () => {
    const { hub, site } = await joined({}, (down) => down.faults(() => ({ status: 503 })));
    await site.poll(["ada"]);
    await site.site.stop();
    expect(stops(hub)).toEqual([]);
  });
});

test("the hub may hold an answer while no push waits behind it", async () => {
  const { hub, site } = await joined();
  await site.poll(["ada", "ben"]);
  await site.told();
  const held = await until("a push that may be held", () => hub.pushes.find(({ holdMs = 0 }) => holdMs > 0));
  expect(held).toMatchObject({ hello: false, holdMs: 10_000 });
  expect(hub.pushes[0]).not.toHaveProperty("holdMs");
});
