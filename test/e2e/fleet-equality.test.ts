import { describe, expect, test } from "bun:test";
import { HAS_POSTGRES } from "../hub/postgres.ts";
import { differences } from "./fleet-compare.ts";
import { startFleet } from "./fleet-rig.ts";
import { SLOW } from "./harness.ts";

const DAY_MS = 86_400_000;

describe.skipIf(!HAS_POSTGRES || !SLOW)("a hub's answers about a site equal the site's", () => {
  test("without faults, over history and polls of today", async () => {
    await using fleet = await startFleet(2);
    for (let round = 0; round < 3; round++) for (const site of fleet.sites) await site.poll(40);
    const end = await fleet.caughtUp();
    expect(await differences(fleet, { start: end - 3 * DAY_MS, end })).toEqual([]);
  });
});
