import { expect, test } from "bun:test";
import { until, untilPrinted } from "./harness.ts";
import { lmstat } from "./lmstat.ts";
import { createWatchedSite, type Watching } from "./watched-site.ts";
import { createWrongClock, HAS_COMPILER } from "./wrong-clock.ts";

const DAY_S = 86_400;
const DAY_MS = DAY_S * 1000;

type Health = { status: string; uptimeSeconds: number; checks: { clock: { status: string } } };
type Session = { user: string; firstSeenAt: string; endedAt: string | null };

test.skipIf(!HAS_COMPILER)(
  "a clock that is 500 days ahead deletes nothing, causes a warning, and leaves nothing behind when corrected",
  async () => {
    await using site = await createWatchedSite();
    const clock = await createWrongClock(site.folder);
    const holds = (at: Watching, ...users: string[]) => {
      const holders = users.map((user) => ({ user, host: "ws01" }));
      return at.poll(lmstat({ solver: { total: 4, holders } }));
    };
    const healthOf = (at: Watching) => at.ask<Health>("/api/health");
    const sessionsOf = async (at: Watching, query = "") =>
      (await at.ask<{ sessions: Session[] }>(`/api/licenses/sessions?${query}`)).sessions;
    const usersOf = (sessions: readonly Session[]) => sessions.map(({ user }) => user).sort();
    const usageOf = (at: Watching) => at.ask<object>("/api/licenses/usage?group_by=feature");

    {
      await using at = await site.watch({ env: clock.env });
      await holds(at);
      await holds(at, "ada", "bob");
      await holds(at, "bob");
      expect(await usageOf(at)).toMatchObject({ groups: [{ sessions: 2 }] });
      await at.daemon.stop();
    }

    await clock.set(500 * DAY_S);
    {
      await using at = await site.watch({ env: clock.env });
      await untilPrinted(at.daemon, "The clock is 500 days ahead of the last stored time");
      // Retention has run when this line is printed. Reload, because a reload also evaluates alerts.
      await at.reload();
      const isFiring = async () => (await at.alerts("rule=clock&state=firing")).length === 1;
      await until("the alert fires", async () => (await isFiring()) || undefined);
      await until("health reports it", async () => {
        const { status, checks } = await healthOf(at);
        return (status === "degraded" && checks.clock.status === "degraded") || undefined;
      });
      expect(usersOf(await sessionsOf(at, "start=2020-01-01"))).toEqual(["ada", "bob"]);
      await holds(at, "bob", "eve");
      await holds(at, "zoe");

      const { uptimeSeconds: before } = await healthOf(at);
      await clock.set(0);
      await until("a second passes", async () => {
        const { uptimeSeconds } = await healthOf(at);
        expect(uptimeSeconds).toBeGreaterThanOrEqual(before);
        return uptimeSeconds > before || undefined;
      });
      await at.daemon.stop();
    }

    await using at = await site.watch({ env: clock.env });
    await holds(at, "zoe");
    const isPast = (time: string | null) => time === null || Date.parse(time) < Date.now() + DAY_MS;
    await until("nothing of the wrong clock is left", async () => {
      const found = await sessionsOf(at, "end=2099-01-01");
      return found.every(({ firstSeenAt, endedAt }) => isPast(firstSeenAt) && isPast(endedAt)) || undefined;
    });
    await until("sessions of the wrong clock have their times", async () => {
      const users = usersOf(await sessionsOf(at));
      return Bun.deepEquals(users, ["ada", "bob", "eve", "zoe"]) || undefined;
    });
    expect((await healthOf(at)).checks.clock.status).toBe("healthy");
    expect(await usageOf(at)).toMatchObject({ groups: [{ feature: "solver", sessions: 4 }] });
    const counted = { features: [{ sessions: expect.any(Number) }] };
    expect(await at.ask<object>("/api/licenses/stats")).toMatchObject(counted);
    const { database } = await at.ask<{ database: { oldestSampleAt: string } }>("/api/status");
    expect(isPast(database.oldestSampleAt)).toBe(true);
  },
);

test.skipIf(!HAS_COMPILER).each([
  ["known", "a database that was written by a right clock"],
  ["not known", "a new database"],
])("a clock that is 400 days behind (%s: %s) adds no year of seat-hours", async (how) => {
  await using site = await createWatchedSite();
  const clock = await createWrongClock(site.folder);
  const holders = ["ada", "bob"].map((user) => ({ user, host: "ws01" }));
  const hold = (at: Watching) => at.poll(lmstat({ solver: { total: 4, holders } }));
  if (how === "not known") await clock.set(-400 * DAY_S);
  await using at = await site.watch({ env: clock.env }, how === "not known" ? -400 * DAY_MS : 0);
  await hold(at);
  const before = Date.now();
  if (how === "known") {
    await clock.set(-400 * DAY_S);
    await hold(at);
    expect((await at.ask<Health>("/api/health")).checks.clock.status).toBe("degraded");
  }
  await clock.set(0);
  await hold(at);
  const { sessions } = await at.ask<{ sessions: Session[] }>("/api/licenses/sessions");
  expect(sessions).toHaveLength(2);
  for (const { firstSeenAt } of sessions) {
    expect(Date.parse(firstSeenAt)).toBeGreaterThan(before - DAY_MS);
    expect(Date.parse(firstSeenAt)).toBeLessThanOrEqual(Date.now());
  }
  const { groups } = await at.ask<{ groups: { heldSeatHours: number }[] }>(
    "/api/licenses/usage?group_by=feature&start=2020-01-01",
  );
  expect(groups.every(({ heldSeatHours }) => heldSeatHours < 48)).toBe(true);
});
