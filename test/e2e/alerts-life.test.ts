import { describe, expect, test } from "bun:test";
import { createAlertSite, type Watching } from "./alert-site.ts";
import type { FlexnetState } from "./flexnet-says.ts";
import { until, untilPrinted } from "./harness.ts";
import { createReceiver, type Receiver } from "./receiver.ts";

const webhook = ({ url }: Receiver, path: string, more = "") =>
  `[[notifications]]\ntype = "webhook"\nurl = "${url}${path}"\n${more}\n`;

/** Seats in use of features of ten seats each. */
const used = (features: Readonly<Record<string, number>>): FlexnetState => ({
  features: Object.fromEntries(
    Object.entries(features).map(([name, seats]) => [name, { total: 10, used: seats }]),
  ),
});

/** What came in, in order. What a kill -9 lets come once more has the number that it had. */
function told(receiver: Receiver, path = "/hook"): string[] {
  const alerts = receiver.messages(path).flatMap((message) => message.alerts);
  const byNumber = new Map(alerts.map((alert) => [alert.notification, `${alert.kind} ${alert.feature}`]));
  return [...byNumber.values()];
}

/** Waits until these were told, in any order, and no other. */
async function untilTold(receiver: Receiver, wanted: readonly string[], path = "/hook") {
  await until(`${wanted} is told`, () => told(receiver, path).length >= wanted.length || undefined);
  expect(told(receiver, path).toSorted()).toEqual([...wanted].sort());
}

const features = async (at: Watching) =>
  [...new Set((await at.firing()).map(({ feature }) => feature ?? ""))].sort();

describe("overrides", () => {
  test.concurrent("by globs: thresholds, polls, a time that it must last, and none at all", async () => {
    await using site = await createAlertSite();
    await site.write(`
[alerts]
usage_warning = 80
usage_critical = 95
[[alerts.overrides]]
feature = "half-*"
usage_warning = 50
[[alerts.overrides]]
feature = "thr?ce"
failures = 3
[[alerts.overrides]]
feature = "*-job"
for = "3s"
[[alerts.overrides]]
feature = "*-shift"
for = "1h"
[[alerts.overrides]]
server = "e?a"
daemon = "acm*"
feature = "noisy"
enabled = false
[[alerts.overrides]]
server = "other*"
feature = "*"
enabled = false
`);
    const busy = { "half-full": 6, thrice: 9, "day-shift": 9, "night-job": 1, noisy: 9, plain: 9 };
    await using at = await site.watch();
    await at.poll(used(busy));
    expect(await features(at)).toEqual(["half-full", "plain"]);
    await at.poll(used(busy));
    expect(await features(at)).toEqual(["half-full", "plain"]);
    await at.poll(used(busy));
    expect(await features(at)).toEqual(["half-full", "plain", "thrice"]);
    await at.poll(used({ ...busy, "night-job": 9 }));
    const since = Date.now();
    await until("it has lasted", () => Date.now() - since > 3_100 || undefined);
    await at.poll(used({ ...busy, "night-job": 9 }));
    expect(await features(at)).toEqual(["half-full", "night-job", "plain", "thrice"]);
  });
});

describe("an alert that somebody handles", () => {
  test.concurrent("is told once, reminded of until it is acknowledged, and told of when it ends", async () => {
    await using receiver = createReceiver();
    await using site = await createAlertSite();
    await site.write(`[alerts]\nrecoveries = 1\nreminder = "1s"\n${webhook(receiver, "/hook")}`);
    await using at = await site.watch();
    await at.poll(used({ solver: 9 }), 3);
    await untilTold(receiver, ["fired solver"]);
    // Time alone brings reminders: it is looked at once a minute, and with each reload.
    await at.reload();
    await until("a reminder is told", () => told(receiver).length > 1 || undefined);
    const reminded = told(receiver);
    expect(new Set(reminded)).toEqual(new Set(["fired solver", "reminder solver"]));
    expect(reminded.filter((one) => one === "fired solver")).toHaveLength(1);

    const [alert] = await at.firing();
    const acknowledged = await at.post(`/api/licenses/alerts/${alert?.id}/acknowledge`, {
      comment: "Ann looks into it\r\nBcc: all@company.example",
    });
    expect(await acknowledged.json()).toMatchObject({
      ...{ acknowledged: true, acknowledgedBy: "test-1", state: "firing" },
      comment: "Ann looks into it\r\nBcc: all@company.example",
    });
    // What people write makes no line of its own in the log.
    await untilPrinted(at.daemon, "Ann looks into it");
    expect(at.daemon.output()).not.toMatch(/^Bcc/m);
    for (let round = 0; round < 2; round++) {
      const waitedSince = Date.now();
      await until("a reminder would be due", () => Date.now() - waitedSince > 1_100 || undefined);
      await at.reload();
    }
    await at.poll(used({ solver: 1 }));
    await until("its end is told", () => told(receiver).includes("resolved solver") || undefined);
    // One more may have become due in the moment before somebody had seen it; two would be one that was not to come.
    const [first, ...others] = told(receiver);
    expect([first, others.pop()]).toEqual(["fired solver", "resolved solver"]);
    expect(new Set(others)).toEqual(new Set(["reminder solver"]));
    expect(others.length).toBeLessThanOrEqual(reminded.length);
    expect(await at.alerts("acknowledged=true")).toMatchObject([{ id: alert?.id, state: "resolved" }]);
    const again = await at.post(`/api/licenses/alerts/${alert?.id}/acknowledge`, {});
    expect([again.status, await again.json()]).toMatchObject([409, { code: "CONFLICT" }]);
    expect((await at.post("/api/licenses/alerts/999999/silence", { durationSeconds: 5 })).status).toBe(404);
  });

  test.concurrent("a silence holds over its end, its return and a restart, and is over when it is over", async () => {
    await using receiver = createReceiver();
    await using site = await createAlertSite();
    await site.write(`[alerts]\nrecoveries = 1\n${webhook(receiver, "/hook")}`);
    let silencedUntil = new Date(Date.now() + 3_600_000).toISOString();
    let id: number | undefined;
    {
      await using at = await site.watch();
      await at.poll(used({ solver: 9 }));
      await untilTold(receiver, ["fired solver"]);
      id = (await at.firing())[0]?.id;
      const silenced = await at.post(`/api/licenses/alerts/${id}/silence`, { until: silencedUntil });
      expect(await silenced.json()).toMatchObject({ silencedUntil });
      // Who heard of its begin hears of its end.
      await at.poll(used({ solver: 1 }));
      await untilTold(receiver, ["fired solver", "resolved solver"]);
    }
    await using at = await site.watch();
    await at.poll(used({ solver: 9 }));
    expect(await at.firing()).toMatchObject([{ rule: "usage", silencedUntil }]);
    await at.reload();
    expect(told(receiver)).toEqual(["fired solver", "resolved solver"]);
    id = (await at.firing())[0]?.id;
    silencedUntil = new Date(Date.now() + 1_000).toISOString();
    await at.post(`/api/licenses/alerts/${id}/silence`, { until: silencedUntil });
    await until("the silence is over", () => Date.now() > Date.parse(silencedUntil) || undefined);
    await at.reload();
    await untilTold(receiver, ["fired solver", "resolved solver", "fired solver"]);
  });
});

describe("a restart", () => {
  test.concurrent("kill -9: nothing fires twice, and nothing that ended or began meanwhile is forgotten", async () => {
    await using receiver = createReceiver();
    await using site = await createAlertSite();
    await site.write(`[alerts]\nfailures = 4\nrecoveries = 2\n${webhook(receiver, "/hook")}`);
    const degraded: FlexnetState = { ...used({ solver: 9, mesher: 9 }), members: ["up", "up", "down"] };
    let fired: readonly { readonly id: number; readonly startedAt: string }[] = [];
    {
      await using at = await site.watch();
      await at.poll(used({ solver: 9, mesher: 9 }));
      fired = await at.firing();
      await untilTold(receiver, ["fired mesher", "fired solver"]);
      // Three of four bad polls; the last may be killed before it is stored.
      await at.poll(degraded, 3);
      await at.daemon.kill();
    }
    await using at = await site.watch();
    expect(await at.firing()).toMatchObject(fired.map(({ id, startedAt }) => ({ id, startedAt })));
    // With the poll at its start there were four.
    await at.poll(degraded);
    expect((await at.firing()).some(({ rule }) => rule === "server_degraded")).toBe(true);
    await untilTold(receiver, ["fired mesher", "fired solver", "fired null"]);
    await at.poll(used({ solver: 9, mesher: 1, viewer: 9 }), 2);
    const known = fired.map(({ id }) => id);
    expect((await at.firing()).filter(({ id }) => known.includes(id))).toHaveLength(1);
    await untilTold(receiver, [
      ...["fired mesher", "fired solver", "fired null"],
      ...["resolved mesher", "resolved null", "fired viewer", "fired viewer"],
    ]);
  });
});

describe("maintenance", () => {
  test.concurrent("what is bad in a window is not counted, and what stays bad behind it fires", async () => {
    await using receiver = createReceiver();
    await using site = await createAlertSite();
    const hook = webhook(receiver, "/hook");
    const start = new Date(Date.now() - 60_000).toISOString();
    await site.write(
      `[alerts]\nfailures = 1\n${hook}\n[[maintenance]]\nservers = ["ed*"]\nstart = ${start}\nduration = "1h"\n`,
    );
    await using at = await site.watch();
    await at.poll({ ...used({ solver: 10 }), members: ["up", "up", "down"] }, 3);
    expect(await at.firing()).toEqual([]);
    await site.write(`[alerts]\nfailures = 1\n${hook}`);
    await at.reload();
    expect(await at.firing()).toEqual([]);
    await at.poll({ ...used({ solver: 10 }), members: ["up", "up", "down"] });
    expect((await at.firing()).map(({ rule }) => rule).sort()).toEqual([
      ...["seats_exhausted", "server_degraded", "usage"],
    ]);
    await untilTold(receiver, ["fired null", "fired solver", "fired solver"]);
  });

  test.concurrent("a daily window keeps its time of day over a change of the clocks", async () => {
    const offsetIn = (timeZone: string, at: number) =>
      /GMT([+-]\d\d:\d\d)/.exec(
        new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "longOffset" }).format(at),
      )?.[1] ?? "";
    const now = Date.now();
    // Not one in which the clocks are changed today: there is an hour that is twice, and one that is not.
    const zone = ["Europe/Berlin", "America/New_York"].find(
      (one) => offsetIn(one, now - 86_400_000) === offsetIn(one, now + 86_400_000),
    );
    if (zone === undefined) throw new Error("the clocks are changed everywhere today");
    const offset = (at: number) => offsetIn(zone, at);
    const dayOf = (days: number) => new Date(now - days * 86_400_000).toISOString().slice(0, 10);
    // A day of the last year on which the clocks were other than now, and all day long.
    const day = Array.from({ length: 300 }, (_, days) => dayOf(days + 1)).find((one) =>
      ["T00:00:00Z", "T23:59:59Z"].every((time) => offset(Date.parse(one + time)) !== offset(now)),
    );
    if (day === undefined) throw new Error(`${zone} keeps one time all year`);
    const clock = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeStyle: "medium" }).format(
      now - 300_000,
    );
    const start = `${day}T${clock}${offset(Date.parse(day))}`;
    await using site = await createAlertSite();
    const window = (duration: string) =>
      `[[maintenance]]\nservers = ["eda"]\nstart = ${start}\nduration = "${duration}"\nevery = "day"\n`;
    await site.write(window("20m"));
    await using at = await site.watch({ env: { TZ: zone } });
    await at.poll(used({ solver: 10 }));
    expect(await at.firing()).toEqual([]);
    // An hour later or earlier it would be another window: this one is over already.
    await site.write(window("4m"));
    await at.reload();
    await at.poll(used({ solver: 10 }));
    expect((await at.firing()).length).toBe(2);
  });
});
