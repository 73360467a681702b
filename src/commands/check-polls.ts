import { createMaintenance } from "../alerts/maintenance.ts";
import { inspectTool } from "../collector/tool.ts";
import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import { applyPoll } from "../domain/apply-poll.ts";
import { clockSkew } from "../domain/clock-skew.ts";
import type { ServerPicture } from "../domain/picture.ts";
import type { PollError, PollOutcome } from "../domain/poll.ts";
import type { Reading } from "../domain/reading.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { hostZone } from "../domain/zone.ts";
import { managerOf } from "../managers/registry.ts";
import { clockWords } from "./clock-words.ts";
import { countOf } from "./config-option.ts";
import { createProber } from "./probe-server.ts";
import type { Report } from "./report.ts";

/** Somebody waits: servers that do not answer must not add up. What is under way at the end takes its own timeout. */
const LIMITS = { atOnce: 32, beginWithinMs: 60_000 } as const;

/** Asks every server once, as the daemon will, and looks at what it says and at its clock. */
export async function checkPolls(
  { servers, maintenance }: Pick<Config, "servers" | "maintenance">,
  environment: Environment,
  now: number,
  report: Report,
  { atOnce, beginWithinMs }: { readonly atOnce: number; readonly beginWithinMs: number } = LIMITS,
): Promise<void> {
  const prober = createProber(environment);
  const waiting = servers.filter((server) => isAskable(server, environment.PATH ?? ""));
  const inMaintenance = createMaintenance(maintenance, hostZone());
  const began = performance.now();
  const ask = async () => {
    while (performance.now() - began < beginWithinMs) {
      const server = waiting.shift();
      if (server === undefined) return;
      tell(server, await prober.poll(server), inMaintenance(server.id, now), report);
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

function tell(server: MonitoredServer, outcome: PollOutcome, inMaintenance: boolean, report: Report): void {
  const { error, reading } = outcome;
  const what = `${server.id}: poll`;
  const trouble = error === null ? troubleOf(applyPoll(null, server, outcome, null)) : wordsOf(error);
  if (trouble !== null && inMaintenance)
    report.warning(what, `${trouble} (a maintenance window covers it now)`);
  else if (trouble !== null)
    report.problem(what, trouble, `see what its tool says: \`licmond probe ${server.id} --raw\``);
  if (reading === null) return;
  const checkouts = reading.features.reduce((sum, { checkouts }) => sum + checkouts.length, 0);
  if (trouble === null)
    report.fine(
      what,
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

function wordsOf({ code, message }: PollError): string {
  return `${code}: ${message}`;
}

/** What is wrong with a server whose poll succeeded; null = nothing. */
function troubleOf({ status, members, daemons }: ServerPicture): string | null {
  if (status === "up") return null;
  const parts = [...members.map(({ host, status }) => ({ name: host, status })), ...daemons];
  const lost = parts.filter((part) => part.status !== "up").map(({ name, status }) => `${name} is ${status}`);
  return `it answers, and is ${status}: ${lost.join(", ")}`;
}

function latestStart({ features }: Reading): number | null {
  let latest: number | null = null;
  for (const { checkouts } of features)
    for (const { startedAt } of checkouts)
      if (startedAt !== null && (latest === null || startedAt > latest)) latest = startedAt;
  return latest;
}
