import { inspectTool } from "../collector/start-failure.ts";
import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import { type ClockSkew, clockSkew } from "../domain/clock-skew.ts";
import type { PollOutcome } from "../domain/poll.ts";
import type { Reading } from "../domain/reading.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { managerOf } from "../managers/registry.ts";
import { countOf } from "./config-option.ts";
import { createProber } from "./probe-server.ts";
import type { Report } from "./report.ts";

/** Asks every server once, as the daemon will, and looks at what it says and at its clock. */
export async function checkPolls(
  { servers, collector }: Config,
  environment: Environment,
  report: Report,
): Promise<void> {
  const prober = createProber(environment);
  const waiting = servers.filter((server) => isAskable(server, environment.PATH ?? ""));
  const ask = async () => {
    for (let server = waiting.shift(); server !== undefined; server = waiting.shift())
      tell(server, await prober.poll(server), report);
  };
  try {
    await Promise.all(Array.from({ length: Math.min(collector.concurrency, waiting.length) }, ask));
  } finally {
    prober.end();
  }
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
  if (skew !== null) report.problem(`${server.id}: clock`, ...words(skew, server.timezone));
  else if (reading.reportTime !== null) report.fine(`${server.id}: clock`, "agrees with this host's");
}

function latestStart({ features }: Reading): number | null {
  let latest: number | null = null;
  for (const { checkouts } of features)
    for (const { startedAt } of checkouts)
      if (startedAt !== null && (latest === null || startedAt > latest)) latest = startedAt;
  return latest;
}

/** What is wrong, and what to do. */
function words(skew: ClockSkew, zone: string): [string, string] {
  const differs = `${duration(skew.ahead)} ${skew.ahead > 0 ? "ahead of" : "behind"}`;
  switch (skew.kind) {
    case "zone":
      return [
        `read in ${zone}, its clock is ${differs} this host's: \`timezone\` is not the server's zone`,
        `set the server's timezone to its own, one that is ${skew.utcOffset} now`,
      ];
    case "clock":
      return [
        `its clock is ${differs} this host's: start times are off by that`,
        "let both hosts keep time (chrony, systemd-timesyncd): `timedatectl` shows whether they do",
      ];
    case "future":
      return [
        `read in ${zone}, its latest checkout starts ${duration(skew.ahead)} from now`,
        "set the server's timezone to its own; if it is, let the server's host keep time (chrony, systemd-timesyncd)",
      ];
  }
}

/** `2 h 5 min` */
function duration(ms: number): string {
  const minutes = Math.round(Math.abs(ms) / 60_000);
  const hours = Math.floor(minutes / 60);
  return [hours > 0 ? `${hours} h` : "", minutes % 60 > 0 || hours === 0 ? `${minutes % 60} min` : ""]
    .filter((part) => part !== "")
    .join(" ");
}
