import { expect, test } from "bun:test";
import { type Daemon, until, untilPrinted } from "./harness.ts";
import { lmstat } from "./lmstat.ts";
import { createSite, serverToml } from "./site.ts";
import { createWrongClock, HAS_COMPILER } from "./wrong-clock.ts";

const DAY_S = 86_400;
const DAY_MS = DAY_S * 1000;

interface Answers {
  readonly health: { status: string; uptimeSeconds: number; checks: { clock: { status: string } } };
  readonly usage: { groups: { feature: string; sessions: number }[] };
  readonly stats: { features: { sessions: number | null }[] };
  readonly sessions: { sessions: { user: string; firstSeenAt: string; endedAt: string | null }[] };
}

test.skipIf(!HAS_COMPILER)(
  "a clock that is 500 days ahead deletes nothing, is warned of, and leaves nothing behind once it is right",
  async () => {
    await using site = await createSite();
    const clock = await createWrongClock(site.folder);
    const tool = await site.tool("lmutil");
    await site.configure(serverToml("eda", tool.path, 'interval = "24h"'));
    let key = "";
    const ask = async (daemon: Daemon, path: string, method = "GET") => {
      const response = await daemon.get(path, key, { method });
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      return await response.json();
    };
    const holds = async (daemon: Daemon, ...users: string[]) => {
      const holders = users.map((user) => ({ user, host: "ws01" }));
      await tool.says(lmstat({ solver: { total: 4, holders } }));
      await ask(daemon, "/api/licenses/rescan", "POST");
    };
    const answers = async (daemon: Daemon) =>
      ({
        health: await ask(daemon, "/api/health"),
        usage: await ask(daemon, "/api/licenses/usage?group_by=feature"),
        stats: await ask(daemon, "/api/licenses/stats"),
        sessions: await ask(daemon, "/api/licenses/sessions"),
      }) as Answers;
    const usersOf = ({ sessions }: Answers) => sessions.sessions.map(({ user }) => user).sort();

    {
      await using daemon = await site.serve({ env: clock.env });
      key = await site.key("admin");
      await holds(daemon);
      await holds(daemon, "ada", "bob");
      await holds(daemon, "bob");
      expect((await answers(daemon)).usage.groups).toMatchObject([{ sessions: 2 }]);
      await daemon.stop();
    }

    await clock.set(500 * DAY_S);
    {
      await using daemon = await site.serve({ env: clock.env });
      await untilPrinted(daemon, "The clock is 500 days ahead of what was stored last");
      // By then retention has looked. A reload has the alerts look, too.
      await ask(daemon, "/api/reload", "POST");
      const firing = "/api/licenses/alerts?rule=clock&state=firing";
      await until("the alert fires", async () => {
        const { alerts } = (await ask(daemon, firing)) as { alerts: unknown[] };
        return alerts.length === 1 || undefined;
      });
      await until("health says so", async () => {
        const { status, checks } = (await ask(daemon, "/api/health")) as Answers["health"];
        return (status === "degraded" && checks.clock.status === "degraded") || undefined;
      });
      const { sessions } = (await ask(
        daemon,
        "/api/licenses/sessions?start=2020-01-01",
      )) as Answers["sessions"];
      expect(sessions.map(({ user }) => user).sort()).toEqual(["ada", "bob"]);
      // Seats that are taken and given back by the wrong clock.
      await holds(daemon, "bob", "eve");
      await holds(daemon, "zoe");

      // The clock is set right: the daemon is no younger for it.
      const { uptimeSeconds: before } = (await answers(daemon)).health;
      await clock.set(0);
      await until("a second passes", async () => {
        const { uptimeSeconds } = (await ask(daemon, "/api/health")) as Answers["health"];
        expect(uptimeSeconds).toBeGreaterThanOrEqual(before);
        return uptimeSeconds > before || undefined;
      });
      await daemon.stop();
    }

    await using daemon = await site.serve({ env: clock.env });
    await holds(daemon, "zoe");
    const isPast = (time: string | null) => time === null || Date.parse(time) < Date.now() + DAY_MS;
    const after = await until("nothing of the wrong clock is left", async () => {
      const found = (await ask(daemon, "/api/licenses/sessions?end=2099-01-01")) as Answers["sessions"];
      const past = found.sessions.every(({ firstSeenAt, endedAt }) => isPast(firstSeenAt) && isPast(endedAt));
      return past ? await answers(daemon) : undefined;
    });
    expect(usersOf(after)).toEqual(["ada", "bob", "zoe"]);
    expect(after.health.checks.clock.status).toBe("healthy");
    expect(after.usage.groups).toMatchObject([{ feature: "solver", sessions: 3 }]);
    expect(after.stats.features).toMatchObject([{ sessions: expect.any(Number) }]);
    const { database } = (await ask(daemon, "/api/status")) as { database: { oldestSampleAt: string } };
    expect(isPast(database.oldestSampleAt)).toBe(true);
  },
);
