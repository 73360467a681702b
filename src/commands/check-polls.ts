import { inspectTool } from "../collector/inspect-tool.ts";
import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import { clockSkew } from "../domain/clock-skew.ts";
import type { PollOutcome } from "../domain/poll.ts";
import type { Reading } from "../domain/reading.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { managerOf } from "../managers/registry.ts";
import { clockWords } from "./clock-words.ts";
import { countOf } from "./config-option.ts";
import { createProber } from "./probe-server.ts";
import type { Report } from "./report.ts";

/** Somebody waits: servers that do not answer must not add up. What is under way at the end takes its own timeout. */
const LIMITS = { atOnce: 32, beginWithinMs: 60_000 } as const;

/** Asks every server once, as the daemon will, and looks at what it says and at its clock. */
export async function checkPolls(
  { servers }: Pick<Config, "servers">,
  environment: Environment,
  report: Report,
  { atOnce, beginWithinMs }: { readonly atOnce: number; readonly beginWithinMs: number } = LIMITS,
): Promise<void> {
  const prober = createProber(environment);
  const waiting = servers.filter((server) => isAskable(server, environment.PATH ?? ""));
  const began = performance.now();
  const ask = async () => {
    while (performance.now() - began < beginWithinMs) {
      const server = waiting.shift();
      if (server === undefined) return;
      tell(server, await prober.poll(server), report);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(atOnce, waiting.length) }, ask));
  } finally {
    prober.end();
  }
  if (waiting.length === 0) return;
  const names = waiting.map(({ id }) => id).join(", ");
  report.warning(
    "poll",
    `not asked, because others took longer than ${beginWithinMs / 1000} s: ${names} (\`licmond probe ID\` asks one)`,
  );
}

/** A server whose tool cannot start or whose address is wrong has been told of. */
function isAskable({ enabled, manager, address, tool }: MonitoredServer, path: string): boolean {
  const { tools, parseAddress } = managerOf(manager);
  return (
    enabled &&
    !("problem" in parseAddress(address)) &&
    inspectTool(tool === null ? { names: tools } : { argv: tool }, path).ok
  );
}

function tell(server: MonitoredServer, outcome: PollOutcome, report: Report): void {
  const { error, reading } = outcome;
  if (error !== null) report.warning(`${server.id}: poll`, `${error.code}: ${error.message}`);
  if (reading === null) return;
  const checkouts = reading.features.reduce((sum, { checkouts }) => sum + checkouts.length, 0);
  if (error === null)
    report.fine(
      `${server.id}: poll`,
      `it answers: ${countOf(reading.features.length, "feature")}, ${countOf(checkouts, "checkout")}`,
    );
  const skew = clockSkew({
    reportTime: reading.reportTime,
    latestStart: latestStart(reading),
    askedAt: outcome.startedAt,
    answeredAt: outcome.finishedAt,
    zone: server.timezone,
  });
  if (skew !== null) report.problem(`${server.id}: clock`, ...clockWords(skew, server.timezone));
  else if (reading.reportTime !== null) report.fine(`${server.id}: clock`, "agrees with this host's");
}

function latestStart({ features }: Reading): number | null {
  let latest: number | null = null;
  for (const { checkouts } of features)
    for (const { startedAt } of checkouts)
      if (startedAt !== null && (latest === null || startedAt > latest)) latest = startedAt;
  return latest;
}
