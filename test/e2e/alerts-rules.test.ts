import { expect, test } from "bun:test";
import { type FlexnetState, flexnetSays, REFUSED } from "./lmstat.ts";
import { framesOf } from "./stream-site.ts";
import { createWatchedSite } from "./watched-site.ts";

const ALERTS = '[alerts]\nusage_warning = 80\nfor = "0s"\nfailures = 2\nrecoveries = 2\nheld_hours = 2\n';
const solver = (used: number, more: object = {}): FlexnetState => ({
  members: ["up", "up", "up"],
  features: { solver: { total: 10, used, ...more }, mesher: { total: 5, used: 1 } },
});
const WELL = solver(1);
/** State with a seat that has been held since long before the daemon started. */
const HELD = solver(1, { heldHours: 30, user: "eve" });
const NOW = Date.now();
const inDays = (days: number) => new Date(NOW + days * 86_400_000).toISOString().slice(0, 10);
const [inFive, gone] = [solver(1, { expires: inDays(5) }), solver(1, { expires: inDays(-1) })];
const QUEUED = solver(10, { queued: 2 });
const DEGRADED: FlexnetState = { ...WELL, members: ["up", "up", "down"] };
const UNKNOWN = { ...WELL, unknown: ["Something that was never printed before"] };

/**
 * For each case: a state, the number of polls until the alert fires, the number of good polls until it
 * ends, and the alerts as `rule severity feature: message`.
 */
const CAUSES: readonly (readonly [FlexnetState | string, number, number, ...(string | RegExp)[]])[] = [
  [HELD, 1, 1, /^held_too_long warning solver: .*held by eve1 on ws1 for 30(\.\d)? h, longer than 2 h$/],
  // Rules about counts fire after one poll, and end after two good polls.
  [solver(8), 1, 2, "seats warning solver: 80 % of the seats of solver are in use (8 of 10)"],
  [QUEUED, 1, 2, "seats critical solver: All 10 seats of solver are in use; requests for 2 seats wait"],
  // Four days if midnight has passed since the start of the test.
  [inFive, 1, 1, new RegExp(`^expiry warning solver: .* solver expires on ${inDays(5)}, in [45] days$`)],
  [gone, 1, 1, `expiry critical solver: The license of solver expired on ${inDays(-1)}`],
  [solver(1, { total: 12 }), 1, 1, "totals_changed warning solver: solver has 12 seats now; it had 10"],
  // Rules about failures need as many polls as `failures` says.
  [DEGRADED, 2, 2, "server_degraded warning -: eda is degraded: 127.0.0.3 down"],
  [REFUSED, 2, 2, /^server_down critical -: eda is down: No license server answers at /],
  [
    { ...WELL, daemon: "down" },
    ...([2, 2] as const),
    /^daemon_down critical -: The daemon acmed of eda is down: .*\(-97,121\)/,
    "server_down critical -: eda is down",
  ],
  [UNKNOWN, 2, 2, "unparsed info -: 1 line of the output of eda is not recognized (usually 0)"],
  ["nothing that lmstat says\n", 2, 2, /^stale warning -: The numbers of eda are stale: /],
];

test("every rule about a server and its features fires for its cause, and ends with it", async () => {
  await using site = await createWatchedSite(ALERTS);
  await site.lmutil.says(flexnetSays(HELD));
  await using at = await site.watch();
  for (const [state, begins, ends, ...fires] of CAUSES) {
    await at.poll(state, begins - 1);
    if (begins > 1) expect(await at.firing()).toEqual([]);
    await at.poll(state);
    const firing = (await at.firing()).map(
      ({ rule, severity, feature, message }) => `${rule} ${severity} ${feature ?? "-"}: ${message}`,
    );
    const says = fires.map((one) => (typeof one === "string" ? one : expect.stringMatching(one)));
    expect(firing.sort()).toEqual(says);
    await at.poll(WELL, ends - 1);
    expect(await at.firing()).toHaveLength(firing.length);
    await at.poll(WELL);
    expect(await at.firing()).toEqual([]);
  }

  const over = await at.alerts("state=resolved");
  expect(new Set(over.map(({ rule }) => rule)).size).toBe(9);
  for (const { startedAt, resolvedAt } of over)
    expect(Date.parse(resolvedAt ?? "")).toBeGreaterThan(Date.parse(startedAt));
  const told = new Map<number, string[]>();
  for await (const { data } of framesOf(at.daemon, "/stream/combined?events=alert&last_event_id=1", at.key)) {
    if (data.alert === undefined) continue;
    const changes = told.get(Number(data.alert)) ?? [];
    told.set(Number(data.alert), [...changes, String(data.change)]);
    if (over.every(({ id }) => told.get(id)?.at(-1) === "resolved")) break;
  }
  expect(told).toEqual(new Map(over.map(({ id }) => [id, ["fired", "resolved"]])));
});
