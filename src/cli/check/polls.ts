import { createMaintenance } from "../../alerts/maintenance.ts";
import { inspectTool } from "../../collector/tool.ts";
import type { Config } from "../../config/config.ts";
import type { Environment } from "../../config/environment.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import type { PollOutcome } from "../../domain/poll.ts";
import { applyPoll } from "../../domain/polls/apply-poll.ts";
import type { MonitoredServer } from "../../domain/server.ts";
import { type ClockSkew, clockSkew } from "../../domain/time/clock-skew.ts";
import { hostZone } from "../../domain/time/zone.ts";
import { managerOf } from "../../managers/registry.ts";
import { countOf } from "../io.ts";
import { createProber } from "../probe.ts";
import type { Report } from "../terminal.ts";

/** A user waits: servers that do not answer must not add up. What is under way at the end takes its own timeout. */
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

/** A server whose tool cannot start or whose address is wrong has been reported. */
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
  const trouble =
    error === null ? troubleOf(applyPoll(null, server, outcome, null)) : `${error.code}: ${error.message}`;
  if (trouble !== null && inMaintenance)
    report.warning(what, `${trouble} (a maintenance window covers it now)`);
  else if (trouble !== null)
    report.problem(what, trouble, `see what its tool says: \`licmond probe ${server.id} --raw\``);
  if (reading === null) return;
  const checkouts = reading.features.flatMap((feature) => feature.checkouts);
  const counts = `${countOf(reading.features.length, "feature")}, ${countOf(checkouts.length, "checkout")}`;
  if (trouble === null) report.fine(what, `it answers: ${counts}`);
  const skew = clockSkew({
    reportTime: reading.reportTime,
    latestStart: checkouts.reduce<number | null>(
      (latest, { startedAt }) => (startedAt === null ? latest : Math.max(latest ?? startedAt, startedAt)),
      null,
    ),
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

/** What is wrong with a server's clock, read in the zone that is set for it, and what to do. */
export function clockWords(skew: ClockSkew, zone: string): [string, string] {
  const off = duration(skew.ahead);
  const differs = `its clock is ${off} ${skew.ahead > 0 ? "ahead of" : "behind"} this host's`;
  const keepTime = "(chrony, systemd-timesyncd)";
  if (skew.kind === "zone")
    return [
      `read in ${zone}, ${differs}: \`timezone\` is not the server's zone`,
      `set the server's timezone to its own, one that is ${skew.utcOffset} now`,
    ];
  if (skew.kind === "clock")
    return [
      `${differs}: start times are off by that`,
      `let both hosts keep time ${keepTime}: \`timedatectl\` shows whether they do`,
    ];
  return [
    `read in ${zone}, its latest checkout starts ${off} from now`,
    `set the server's timezone to its own; if it is, let the server's host keep time ${keepTime}`,
  ];
}

/** `2 h 5 min` */
function duration(ms: number): string {
  const minutes = Math.round(Math.abs(ms) / 60_000);
  const hours = Math.floor(minutes / 60);
  const rest = minutes % 60;
  if (hours === 0) return `${rest} min`;
  return rest === 0 ? `${hours} h` : `${hours} h ${rest} min`;
}
