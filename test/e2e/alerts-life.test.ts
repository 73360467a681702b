import { describe, expect, test } from "bun:test";
import { until, untilPrinted } from "./harness.ts";
import type { FlexnetState } from "./lmstat.ts";
import { createReceiver, type Receiver } from "./receiver.ts";
import { createWatchedSite } from "./watched-site.ts";

const webhook = ({ url }: Receiver, path: string, more = "") =>
  `[[notifications]]\ntype = "webhook"\ngroup = "0s"\nurl = "${url}${path}"\n${more}\n`;

const used = (features: Readonly<Record<string, number>>): FlexnetState => ({
  features: Object.fromEntries(
    Object.entries(features).map(([name, seats]) => [name, { total: 10, used: seats }]),
  ),
});

/** Returns the messages in order of arrival. A message repeated after kill -9 has the same number. */
function told(receiver: Receiver, path = "/hook"): string[] {
  const alerts = receiver.messages(path).flatMap((message) => message.alerts);
  const byNumber = new Map(alerts.map((alert) => [alert.notification, `${alert.kind} ${alert.feature}`]));
  return [...byNumber.values()];
}

/** Waits until exactly these messages have arrived, in any order. */
async function untilTold(receiver: Receiver, wanted: readonly string[], path = "/hook") {
  await until(`${wanted} is told`, () => told(receiver, path).length >= wanted.length || undefined);
  expect(told(receiver, path).toSorted()).toEqual([...wanted].sort());
}

describe("an alert", () => {
  test.concurrent("is told once, reminded of until it is acknowledged, and told of when it ends", async () => {
    await using receiver = createReceiver();
    await using site = await createWatchedSite();
    await site.write(`[alerts]\nfor = "0s"\nrecoveries = 1\nreminder = "1s"\n${webhook(receiver, "/hook")}`);
    await using at = await site.watch();
    await at.poll(used({ solver: 9 }), 3);
    await untilTold(receiver, ["fired solver"]);
    // Reminders depend only on time. They are checked once a minute and on each reload.
    const [fired] = await at.firing();
    const toldAt = Date.parse(fired?.startedAt ?? "");
    await until("a reminder is due", () => Date.now() - toldAt > 1_500 || undefined);
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
      acknowledged: true,
      acknowledgedBy: "test-1",
      state: "firing",
      comment: "Ann looks into it\r\nBcc: all@company.example",
    });
    await untilPrinted(at.daemon, "Ann looks into it");
    expect(at.daemon.output()).not.toMatch(/^Bcc/m);
    for (let round = 0; round < 2; round++) {
      const waitedSince = Date.now();
      await until("a reminder would be due", () => Date.now() - waitedSince > 1_100 || undefined);
      await at.reload();
    }
    await at.poll(used({ solver: 1 }));
    await until("its end is told", () => told(receiver).includes("resolved solver") || undefined);
    // One more reminder may have become due just before the acknowledgement, but not two.
    const [first, ...others] = told(receiver);
    expect([first, others.pop()]).toEqual(["fired solver", "resolved solver"]);
    expect(new Set(others)).toEqual(new Set(["reminder solver"]));
    expect(others.length).toBeLessThanOrEqual(reminded.length);
    expect(await at.alerts("acknowledged=true")).toMatchObject([{ id: alert?.id, state: "resolved" }]);
    const again = await at.post(`/api/licenses/alerts/${alert?.id}/acknowledge`, {});
    expect([again.status, await again.json()]).toMatchObject([409, { code: "CONFLICT" }]);
    expect((await at.post("/api/licenses/alerts/999999/silence", { durationSeconds: 5 })).status).toBe(404);
  });
});

describe("a restart", () => {
  test.concurrent("kill -9: nothing fires twice, and nothing that ended or began meanwhile is forgotten", async () => {
    await using receiver = createReceiver();
    await using site = await createWatchedSite();
    await site.write(`[alerts]\nfor = "0s"\nfailures = 5\nrecoveries = 2\n${webhook(receiver, "/hook")}`);
    const degraded: FlexnetState = { ...used({ solver: 9, mesher: 9 }), members: ["up", "up", "down"] };
    let fired: readonly { readonly id: number; readonly startedAt: string }[] = [];
    {
      await using at = await site.watch();
      await at.poll(used({ solver: 9, mesher: 9 }));
      fired = await at.firing();
      await untilTold(receiver, ["fired mesher", "fired solver"]);
      // Three of five failed polls; the kill may come before the last one is stored.
      await at.poll(degraded, 3);
      await at.daemon.kill();
    }
    await using at = await site.watch();
    expect(await at.firing()).toMatchObject(fired.map(({ id, startedAt }) => ({ id, startedAt })));
    // These and the poll at startup are at most four, so at least one from before the kill counts.
    await at.poll(degraded, 3);
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

  test.concurrent("while alerts wait for their group: it goes out once, as one message, with all of them", async () => {
    await using receiver = createReceiver();
    await using site = await createWatchedSite();
    await site.write(
      `[alerts]\nfor = "0s"\n[[notifications]]\ntype = "webhook"\nurl = "${receiver.url}/hook"\nrules = ["seats"]\n`,
    );
    {
      await using at = await site.watch();
      await at.poll(used({ solver: 9 }));
      await at.poll(used({ solver: 9, mesher: 10 }));
      expect(await at.firing()).toHaveLength(3);
      expect(await at.daemon.stop()).toBe(0);
    }
    await using at = await site.watch();
    await at.poll(used({ solver: 9, mesher: 10 }));
    expect(receiver.got).toEqual([]);
    await until("the group is complete", () => receiver.got.length > 0 || undefined);
    expect(told(receiver).toSorted()).toEqual(["fired mesher", "fired solver"]);
    await at.poll(used({ solver: 9, mesher: 10 }));
    await at.daemon.stop();
    expect(receiver.got).toHaveLength(1);
  });
});
