import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { SessionRecord } from "../../src/domain/history-records.ts";
import { createFakeHub, type FakeHub } from "../fleet/fake-hub.ts";
import { SLOW, until } from "./harness.ts";
import { createWatchedSite, type WatchedSite, type Watching } from "./watched-site.ts";

/** The built binary as a site, with an in-memory hub. */

const hubs: FakeHub[] = [];
afterAll(() => Promise.all(hubs.map((hub) => hub.stop())));

function newHub(): FakeHub {
  const hub = createFakeHub();
  hubs.push(hub);
  return hub;
}

async function fleetToml(site: WatchedSite, hub: FakeHub, more = ""): Promise<string> {
  const file = join(site.folder, "hub.key");
  await Bun.write(file, "lmk_test\n");
  return `[fleet]\nsite = "muc"\nurl = "${hub.url}"\napi_key_file = "${file}"\n${more}`;
}

type Session = Pick<SessionRecord, "id" | "user" | "endReason" | "count"> & {
  endedAt: string | number | null;
};

async function expectSame(watching: Watching, hub: FakeHub): Promise<void> {
  const { sessions } = await watching.ask<{ sessions: SessionRecord[] }>(
    "/api/licenses/sessions?limit=10000",
  );
  const facts = ({ id, user, endReason, endedAt, count }: Session) =>
    [id, user, endReason, endedAt === null ? null : Number(new Date(endedAt)), count].join();
  expect([...hub.latest().sessions.values()].map(facts).sort()).toEqual(sessions.map(facts).sort());
  const { alerts } = await watching.ask<{ alerts: { id: number }[] }>("/api/licenses/alerts?state=firing");
  const firing = hub.states.get("alerts");
  expect(firing?.kind === "alerts" && firing.firing.map(({ id }) => id).sort()).toEqual(
    alerts.map(({ id }) => id).sort(),
  );
  const seqs = hub.latest().facts.map(({ seq }) => seq);
  expect(seqs).toEqual([...new Set(seqs)].sort((x, y) => x - y));
  expect(hub.problems).toEqual([]);
}

const told = (watching: Watching) =>
  until("the hub has everything", async () => {
    const { fleet } = await watching.ask<{ fleet: object }>("/api/status");
    const { state, waitingFacts, daysLeft } = { state: "", waitingFacts: -1, daysLeft: -1, ...fleet };
    return (state === "connected" && waitingFacts === 0 && daysLeft === 0) || undefined;
  });

const seats = (...users: string[]) => ({
  features: { compiler: { total: 4, holders: users.map((user) => ({ user, host: "ws1" })) } },
});

test("a hub stores everything once, across kill -9 and lost answers", async () => {
  const hub = newHub();
  await using site = await createWatchedSite();
  await site.write(await fleetToml(site, hub));
  {
    await using watching = await site.watch();
    await told(watching);
    hub.faults((_push, at) => (at % 2 === 0 ? "lost" : null));
    await watching.poll(seats("ann", "ben"));
    await watching.poll(seats("ann"));
    await watching.daemon.kill();
  }
  {
    await using watching = await site.watch();
    await watching.poll(seats("ann", "cy"));
    await until("some of it is told", () => (hub.latest().facts.length > 3 ? true : undefined));
    await watching.poll(seats("dora"));
    await watching.daemon.kill();
  }
  hub.faults(() => null);
  await using watching = await site.watch();
  await watching.poll(seats("dora", "ann", "ben", "cy"));
  await told(watching);
  await until("the alerts are told", () => (hub.states.has("alerts") ? true : undefined));
  await expectSame(watching, hub);
  const users = hub.pictures
    .get("eda")
    ?.features.values()
    .next()
    .value?.checkouts.map(({ user }) => user);
  expect(users?.toSorted()).toEqual(["ann", "ben", "cy", "dora"]);

  const { stdout, exitCode } = await site.run(["fleet", "status", "--url", watching.daemon.url], {
    env: { LICMOND_API_KEY: watching.key },
  });
  expect(stdout).toContain(`muc: the hub ${hub.url} answers`);
  expect(exitCode).toBe(0);
  const scrape = await fetch(`${watching.daemon.url}/metrics`, { headers: { "x-api-key": watching.key } });
  const metrics = await scrape.text();
  expect(metrics).toContain("\nlicmond_fleet_connected 1\n");
  expect(metrics).toContain("\nlicmond_fleet_waiting_bytes 0\n");
  expect(metrics).toMatch(/\nlicmond_fleet_sent_facts_total [1-9]/);
});

test.skipIf(!SLOW)("a restored database is a new one to the hub", async () => {
  const hub = newHub();
  await using site = await createWatchedSite();
  await site.write(await fleetToml(site, hub));
  const backup = join(site.folder, "backup.db");
  let epoch: string | undefined;
  {
    await using watching = await site.watch();
    await watching.poll(seats("ann"));
    await told(watching);
    expect(await site.run(["backup", backup])).toMatchObject({ exitCode: 0 });
    await watching.poll(seats("ann", "ben"));
    await told(watching);
    epoch = hub.pushes.at(-1)?.epoch;
    await watching.daemon.stop();
  }
  expect(await site.run(["restore", backup])).toMatchObject({ exitCode: 0 });
  await using watching = await site.watch();
  await watching.poll(seats("ann", "zoe"));
  await told(watching);
  expect(hub.pushes.at(-1)?.epoch).not.toBe(epoch);
  await expectSame(watching, hub);
});

test("a reload joins and leaves the fleet; unrecorded data is sent as days", async () => {
  const hub = newHub();
  await using site = await createWatchedSite();
  await using watching = await site.watch();
  const inFleet = () =>
    until(
      "it is in a fleet",
      async () => "fleet" in (await watching.ask<object>("/api/status")) || undefined,
    );
  expect(await watching.ask<object>("/api/status")).not.toHaveProperty("fleet");
  const none = await site.run(["fleet", "status", "--url", watching.daemon.url], {
    env: { LICMOND_API_KEY: watching.key },
  });
  expect(none).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("not part of a fleet") });
  await watching.poll(seats("ann"));
  await site.write(await fleetToml(site, hub));
  await watching.reload();
  await inFleet();
  await watching.poll(seats("ann", "ben"));
  await told(watching);
  await expectSame(watching, hub);
  await site.write("");
  await watching.reload();
  await watching.poll(seats("cy"));
  await site.write(await fleetToml(site, hub));
  await watching.reload();
  await inFleet();
  await watching.poll(seats("cy", "dora"));
  await told(watching);
  await expectSame(watching, hub);
});
