import { afterAll, expect, test } from "bun:test";
import { until } from "../until.ts";
import { createFakeHub, type FakeHub } from "./fake-hub.ts";
import { createSiteRig } from "./rig.ts";

const hubs: FakeHub[] = [];
afterAll(() => Promise.all(hubs.map((hub) => hub.stop())));

test("a stopping site sends a farewell, and another instance may push at once", async () => {
  const hub = createFakeHub();
  hubs.push(hub);
  await using rig = await createSiteRig(hub);
  await rig.poll(["ada"]);
  await rig.told();
  await rig.site.stop();
  const { stops, facts, states, instance } = hub.pushes.at(-1) ?? {};
  expect({ stops, facts, states }).toEqual({ stops: true, facts: [], states: [] });
  expect(hub.pushes.filter((push) => push.stops).length).toBe(1);
  await rig.restart();
  await rig.told();
  expect(hub.pushes.at(-1)?.instance).not.toBe(instance);
});

test("the hub may hold an answer while no push waits behind it", async () => {
  const hub = createFakeHub();
  hubs.push(hub);
  await using rig = await createSiteRig(hub);
  await rig.poll(["ada", "ben"]);
  await rig.told();
  const held = await until("a push that may be held", () => hub.pushes.find(({ holdMs = 0 }) => holdMs > 0));
  expect(held).toMatchObject({ hello: false, holdMs: 10_000 });
  expect(hub.pushes[0]).not.toHaveProperty("holdMs");
});

test("a site that never reached its hub sends no farewell", async () => {
  const hub = createFakeHub();
  hubs.push(hub);
  hub.faults(() => ({ status: 503 }));
  await using rig = await createSiteRig(hub);
  await rig.poll(["ada"]);
  await rig.site.stop();
  expect(hub.pushes.filter((push) => push.stops)).toEqual([]);
});
