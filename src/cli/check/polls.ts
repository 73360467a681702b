import { createMaintenance } from "../../alerts/settings.ts";
import { inspectTool } from "../../collector/tool.ts";
import type { Config } from "../../config/config.ts";
import type { Environment } from "../../config/environment.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import type { PollOutcome } from "../../domain/poll.ts";
import { applyPoll } from "../../domain/polls/apply-poll.ts";
import type { Reading } from "../../domain/reading.ts";
import type { MonitoredServer } from "../../domain/server.ts";
import { type ClockSkew, clockSkew } from "../../domain/time/clock-skew.ts";
import { hostZone } from "../../domain/time/zone.ts";
import { managerOf } from "../../managers/registry.ts";
import { countOf } from "../io.ts";
import { createProber } from "../probe.ts";
import type { Report } from "../terminal.ts";

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
  return enabled && !("problem" in parseAddress(address)) && inspectTool(tool?.slice(0, 1) ?? tools, path).ok;
}

function tell(server: MonitoredServer, outcome: PollOutcome, inMaintenance: boolean, report: Report): void {
  const { error, reading } = outcome;
  const what = `${server.id}: poll`;
  const trouble =
    error === null ? troubleOf(applyPoll(null, server, outcome, null)) : `${error.code}: ${error.message}`;
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

/** What is wrong with a server whose poll succeeded; null = nothing. */
function troubleOf({ status, members, daemons }: ServerPicture): string | null {
  if (status === "up") return null;
  const parts = [...members.map(({ host, status }) => ({ name: host, status })), ...daemons];
  const lost = parts.filter((part) => part.status !== "up").map(({ name, status }) => `${name} is ${status}`);
  return `it answers, and is ${status}: ${lost.join(", ")}`;
}

function latestStart({ features }: Reading): number | null {
  const starts = features.flatMap(({ checkouts }) => checkouts.flatMap(({ startedAt }) => startedAt ?? []));
  return starts.reduce<number | null>((latest, at) => Math.max(latest ?? at, at), null);
}

/** What is wrong with a server's clock, read in the zone that is set for it, and what to do. */
export function clockWords(skew: ClockSkew, zone: string): [string, string] {
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
