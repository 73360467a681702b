import { expect, test } from "bun:test";
import { npmWebSocket } from "./stream-clients.ts";
import { createStreamSite, publish, replay, requestIdOf, untilSeen } from "./stream-site.ts";

test("the npm package ws resumes with last_event_id after a crash without lost or repeated events", async () => {
  await using site = await createStreamSite();
  const first = await site.serve();
  const key = await site.key("admin");
  const { seen, answers, closed } = await npmWebSocket(`${first.url}/ws/logs?api_key=${key}`);
  await publish(first, { tag: "before", count: 200 });
  await untilSeen(seen, "before-199");
  await first.kill();
  // A crash sends no close frame.
  expect([(await closed).code, answers]).toEqual([1006, []]);
  await using second = await site.serve();
  // Publish while no client is connected, and again after the client has reconnected.
  await publish(second, { tag: "after", count: 100 });
  const last = seen.at(-1)?.id ?? Number.NaN;
  const again = await npmWebSocket(`${second.url}/ws/logs?api_key=${key}&last_event_id=${last}`);
  await publish(second, { tag: "after-again", count: 1 });
  await untilSeen(again.seen, "after-again-0");
  const all = [...seen, ...again.seen];
  const truth = await replay(second, key, (all[0]?.id ?? 0) - 1, "after-again-0");
  expect(all.slice(0, truth.length)).toEqual([...truth]);
  const published = all.filter((each) => /^(before|after)-/.test(requestIdOf(each) ?? ""));
  expect(published).toHaveLength(200 + 100 + 1);
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  const { type, from, oldest } = again.answers[0] ?? {};
  expect([type, from]).toEqual(["resume", last]);
  expect(Number(oldest)).toBeLessThan(last);
  expect(await second.stop()).toBe(0);
  expect(await again.closed).toEqual({ code: 1001, reason: "licmond is shutting down" });
});
