import { expect, test } from "bun:test";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { createAlertSite, type Watching } from "./alert-site.ts";
import { until } from "./harness.ts";
import { type FlexnetState, flexnetSays, REFUSED } from "./lmstat.ts";
import { framesOf } from "./stream-site.ts";

const ALERTS = `
[alerts]
failures = 2
recoveries = 2
held_hours = 2
`;
const UP = ["up", "up", "up"] as const;
const solver = (used: number, more: object = {}): FlexnetState => ({
  members: UP,
  features: { solver: { total: 10, used, ...more }, mesher: { total: 5, used: 1 } },
});
const WELL = solver(1);
const NOW = Date.now();
const inDays = (days: number) => new Date(NOW + days * 86_400_000).toISOString().slice(0, 10);

/** Lets something be wrong for so many polls; says what fires then, and that all of it ends. */
async function cause(at: Watching, bad: FlexnetState | string, polls: number, recovery: number) {
  if (polls > 1) {
    await at.poll(bad, polls - 1);
    expect(await at.firing()).toEqual([]);
  }
  await at.poll(bad);
  const firing = await at.firing();
  if (recovery > 1) {
    await at.poll(WELL, recovery - 1);
    expect(await at.firingRules()).toEqual([...new Set(firing.map(({ rule }) => rule))].sort());
  }
  await at.poll(WELL);
  expect(await at.firing()).toEqual([]);
  return firing.map(({ rule, severity, feature, message }) => [rule, severity, feature, message]).sort();
}

test("every rule about a server and its features fires by its cause, and ends with it", async () => {
  await using site = await createAlertSite();
  // Held since long before anybody watched.
  await site.lmutil.says(flexnetSays(solver(1, { heldHours: 30, user: "eve" })));
  await site.write(ALERTS);
  await using at = await site.watch();
  expect(await cause(at, solver(1, { heldHours: 30, user: "eve" }), 1, 1)).toEqual([
    [
      "held_too_long",
      "warning",
      "solver",
      expect.stringMatching(/held by eve1 on ws1 for 30(\.\d)? h, longer than 2 h$/),
    ],
  ]);

  // Of numbers one poll is enough, and two good ones end it.
  expect(await cause(at, solver(8), 1, 2)).toEqual([
    ["usage", "warning", "solver", "80 % of the seats of solver are in use (8 of 10)"],
  ]);
  expect(await cause(at, solver(10, { queued: 2 }), 1, 2)).toEqual([
    ["queue", "warning", "solver", "Requests for 2 seats of solver wait"],
    ["seats_exhausted", "warning", "solver", "All 10 seats of solver are in use"],
    ["usage", "critical", "solver", "100 % of the seats of solver are in use (10 of 10)"],
  ]);
  expect(await cause(at, solver(1, { expires: inDays(5) }), 1, 1)).toEqual([
    // Of four days, where midnight has passed since the test began.
    [
      "expiry",
      "warning",
      "solver",
      expect.stringMatching(new RegExp(`^The license of solver expires on ${inDays(5)}, in [45] days$`)),
    ],
  ]);
  expect(await cause(at, solver(1, { expires: inDays(-1) }), 1, 1)).toEqual([
    ["expiry", "critical", "solver", `The license of solver expired on ${inDays(-1)}`],
  ]);
  expect(
    await cause(at, { ...WELL, features: { ...WELL.features, solver: { total: 12, used: 1 } } }, 1, 1),
  ).toEqual([["totals_changed", "warning", "solver", "solver has 12 seats now; it had 10"]]);

  // Of polls and parts it takes as many as `failures` says.
  expect(await cause(at, { ...WELL, members: ["up", "up", "down"] }, 2, 2)).toEqual([
    ["server_degraded", "warning", null, "eda is degraded: 127.0.0.3 down"],
  ]);
  expect(await cause(at, REFUSED, 2, 2)).toEqual([
    ["server_down", "critical", null, expect.stringMatching(/^eda is down: No license server answers at /)],
  ]);
  const daemon = await cause(at, { ...WELL, daemon: "down" }, 2, 2);
  expect(daemon).toContainEqual([
    "daemon_down",
    "critical",
    null,
    expect.stringMatching(/^The daemon acmed of eda is down: .*\(-97,121\)/),
  ]);
  expect(await cause(at, { ...WELL, unknown: ["Something that nobody has ever printed"] }, 2, 2)).toEqual([
    ["unparsed", "info", null, "1 lines of what eda says are not understood; it was 0"],
  ]);
  expect(await cause(at, "nothing that lmstat says\n", 2, 2)).toEqual([
    ["stale", "warning", null, expect.stringMatching(/^The numbers of eda are stale: /)],
  ]);

  // All of it is in the list of what was.
  const over = await at.alerts("state=resolved");
  expect(new Set(over.map(({ rule }) => rule))).toEqual(
    new Set([
      ...["usage", "seats_exhausted", "queue", "expiry", "held_too_long", "totals_changed", "unparsed"],
      ...["server_degraded", "server_down", "daemon_down", "stale"],
    ]),
  );
  // Each was told on the stream: that it fired, what became of it, and its end.
  const told = new Map<number, string[]>();
  const stop = new AbortController();
  const stream = await at.daemon.get("/stream/combined?events=alert&last_event_id=1", at.key, {
    signal: stop.signal,
  });
  for await (const { name, data } of framesOf(stream)) {
    if (name !== "alert") continue;
    const changes = told.get(Number(data.alert)) ?? [];
    told.set(Number(data.alert), [...changes, String(data.change)]);
    if (over.every(({ id }) => told.get(id)?.at(-1) === "resolved")) break;
  }
  stop.abort();
  expect([...told.keys()].sort()).toEqual(over.map(({ id }) => id).sort());
  for (const changes of told.values()) expect(changes).toEqual(["fired", "resolved"]);
  for (const { startedAt, resolvedAt } of over)
    expect(Date.parse(resolvedAt ?? "")).toBeGreaterThan(Date.parse(startedAt));
});

test("denials fire by a line of the debug log, and count as over an hour later", async () => {
  await using site = await createAlertSite();
  const log = join(site.folder, "acmed.log");
  await Bun.write(log, " 0:00:00 (lmgrd) FlexNet Licensing (v11.18.2) started on lic1\n");
  await site.write(ALERTS, `log_file = "${log}"`);
  await using at = await site.watch();
  await at.poll(WELL);
  await until("the log is followed", async () => {
    const { logging } = (await (await at.daemon.get("/api/licenses/denials", at.key)).json()) as {
      logging: { state: string }[];
    };
    return logging[0]?.state === "on" || undefined;
  });
  // Almost an hour ago by the server's clock, so that its hour is over soon: on a slow machine before it is read, and
  // then another one is denied something.
  const denied = async (user: string, leftMs: number) => {
    const over = Date.now() + leftMs;
    const time = new Date(over - 3_600_000).toISOString().slice(11, 19);
    await appendFile(
      log,
      `${time} (acmed) DENIED: "solver" ${user}@ws01  (Licensed number of users already reached. (-4,342:10054 ""))\n`,
    );
    const fired = await until("it fires", async () => {
      const firing = await at.firing();
      return firing.length > 0 || Date.now() > over ? firing : undefined;
    });
    return { over, fired };
  };
  let { over, fired } = await denied("ada", 5_000);
  if (fired.length === 0) ({ over, fired } = await denied("bob", 25_000));
  expect(fired).toMatchObject([
    { rule: "denials", feature: "solver", message: "Requests for solver are denied", severity: "warning" },
  ]);
  await until("the hour is over", () => (Date.now() > over ? true : undefined));
  await at.reload();
  expect(await at.firing()).toEqual([]);
});
