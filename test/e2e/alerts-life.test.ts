import { expect, test } from "bun:test";
import { until } from "./harness.ts";
import type { FlexnetState } from "./lmstat.ts";
import { createWatchedSite } from "./watched-site.ts";

interface Message {
  readonly alerts: readonly (Readonly<Record<"kind" | "feature", string>> & {
    readonly notification: number;
  })[];
}

type Receiver = ReturnType<typeof createReceiver>;

/** Receives webhooks on loopback. */
function createReceiver() {
  const got: Message[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      got.push((await request.json()) as Message);
      return new Response(null, { status: 204 });
    },
  });
  return { url: `${server.url}hook`, got, [Symbol.asyncDispose]: () => server.stop(true) };
}

const webhook = ({ url }: Receiver, more: string) =>
  `[[notifications]]\ntype = "webhook"\nurl = "${url}"\n${more}\n`;

const used = (features: Readonly<Record<string, number>>): FlexnetState => ({
  features: Object.fromEntries(
    Object.entries(features).map(([name, seats]) => [name, { total: 10, used: seats }]),
  ),
});

/** Returns the messages in order of arrival. A message repeated after kill -9 has the same number. */
function told({ got }: Receiver): string[] {
  const alerts = got.flatMap((message) => message.alerts);
  const byNumber = new Map(alerts.map((alert) => [alert.notification, `${alert.kind} ${alert.feature}`]));
  return [...byNumber.values()];
}

/** Waits until exactly the wanted messages have arrived, in any order. */
async function untilTold(receiver: Receiver, wanted: readonly string[]) {
  await until(`${wanted} is told`, () => told(receiver).length >= wanted.length || undefined);
  expect(told(receiver).toSorted()).toEqual([...wanted].sort());
}

test.concurrent("restart after kill -9: nothing fires twice, and nothing that ended or began meanwhile is forgotten", async () => {
  await using receiver = createReceiver();
  await using site = await createWatchedSite();
  await site.write(
    `[alerts]\nfor = "0s"\nfailures = 5\nrecoveries = 2\n${webhook(receiver, 'group = "0s"')}`,
  );
  const degraded: FlexnetState = { ...used({ solver: 9, mesher: 9 }), members: ["up", "up", "down"] };
  let fired: readonly { readonly id: number; readonly startedAt: string }[] = [];
  {
    await using at = await site.watch();
    await at.poll(used({ solver: 9, mesher: 9 }));
    fired = await at.firing();
    await untilTold(receiver, ["fired mesher", "fired solver"]);
    // The alert requires five failed polls. These are three, and the kill may come before the last one is
    // stored.
    await at.poll(degraded, 3);
    await at.daemon.kill();
  }
  await using at = await site.watch();
  expect(await at.firing()).toMatchObject(fired.map(({ id, startedAt }) => ({ id, startedAt })));
  // With the poll at startup, these are at most four failed polls, so the alert needs at least one from
  // before the kill.
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

test.concurrent("restart while alerts wait for their group: it goes out once, as one message, with all of them", async () => {
  await using receiver = createReceiver();
  await using site = await createWatchedSite();
  await site.write(`[alerts]\nfor = "0s"\n${webhook(receiver, 'rules = ["seats"]')}`);
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
