import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { SLOW, until } from "./harness.ts";
import { type FlexnetState, flexnetSays, REFUSED } from "./lmstat.ts";
import { createWatchedSite } from "./watched-site.ts";

const UP = ["up", "up", "up"] as const;
const IN_FIVE_DAYS = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10);

test.skipIf(!SLOW)("check --alerts reports the alerts that the daemon fired", async () => {
  await using site = await createWatchedSite();
  const log = join(site.folder, "acmed.log");
  await Bun.write(log, "");
  const state = (used: number, more: object = {}, mesher: object = {}) => ({
    members: UP,
    features: {
      solver: { total: 10, used, ...more },
      mesher: { total: 5, used: 1, user: "eve", heldHours: 30, expires: IN_FIVE_DAYS, ...mesher },
    },
  });
  await site.lmutil.says(flexnetSays(state(1)));
  const alerts = "usage_warning = 80\nfor = '0s'\nfailures = 1\nrecoveries = 1\nheld_hours = 2";
  const target =
    "type = 'command'\nargv = ['/bin/true']\nrules = ['usage', 'server_down']\nseverity = 'critical'";
  await site.write(`[alerts]\n${alerts}\n[[notifications]]\n${target}\n`, `log_file = "${log}"`);
  await using at = await site.watch();
  const more = state(1, {}, { total: 6 });
  const polls: readonly (FlexnetState | string)[] = [
    ...[state(1), state(8), state(1), state(9), state(10), state(10, { queued: 2 }), state(1)],
    ...[more, { ...more, members: ["up", "up", "down"] as const }],
    ...[state(1), REFUSED, state(1), REFUSED, state(1), { ...state(1), daemon: "down" as const }, state(1)],
    ...["", "", state(1), "", REFUSED, state(1)],
  ];
  for (const poll of polls) await at.poll(poll);
  // Log the denial with a time 30 s ago, so that its outcome is final.
  const time = new Date(Date.now() - 30_000).toISOString().slice(11, 19);
  const reason = "(Licensed number of users already reached. (-4,342))";
  await appendFile(log, `${time} (acmed) DENIED: "solver" ada@ws01  ${reason}\n`);
  await until("the denial fires", async () => (await at.alerts("rule=denials")).length > 0 || undefined);
  // The last shortage begins only with this poll.
  await at.poll(state(10));

  await at.firing();
  const fired = (await at.alerts("")).map(({ rule, feature }) => `${rule} ${feature ?? ""}`.trim());
  // Statuses are kept longer than their events, so the command must work without the events.
  using database = new Database(join(site.folder, "storage", "licmond.db"));
  database.run("DELETE FROM events WHERE type = 'server_status' AND body ->> '$.daemon' IS NULL");
  const { exitCode, stdout, stderr } = await site.run(["check", "--alerts", "--days", "1"]);
  expect([exitCode, stderr]).toEqual([0, ""]);
  const told = [...stdout.matchAll(/^(\w+) +(eda\S*)? +(\d+) times? /gm)].flatMap(
    ([, rule, where = "", count]) =>
      new Array<string>(Number(count)).fill(`${rule} ${where.split("/")[2] ?? ""}`.trim()),
  );
  expect(told.sort()).toEqual(fired.sort());
  expect([...new Set(told)]).toEqual([
    ...["daemon_down", "denials solver", "expiry mesher", "held_too_long mesher", "seats solver"],
    ...["server_degraded", "server_down", "stale", "totals_changed mesher"],
  ]);
  expect(stdout).toMatch(/^seats +eda\/acmed\/solver +3 times .* 1 of 1 target$/m);
  expect(stdout).toMatch(/^denials +eda\/acmed\/solver +1 time .* 0 of 1 target$/m);
  const json = await site.run(["check", "--alerts", "--days", "1", "--json"]);
  const { firings } = JSON.parse(json.stdout) as { firings: Record<string, unknown>[] };
  expect(firings).toHaveLength(fired.length);
  const peaks = firings.filter(({ rule }) => rule === "seats").map(({ peakValue }) => peakValue);
  expect(peaks).toEqual([80, 100, 100]);
  const words = ["rule", "severity", "server", "daemon", "feature", "startedAt", "firedAt", "resolvedAt"];
  for (const firing of firings) expect(Object.keys(firing)).toEqual([...words, "peakValue"]);
  expect(stdout).toContain("\nNot replayed: unparsed, disk, clock, outbox. History does not store the data");
});
