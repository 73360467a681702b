import { printExpiry } from "../../domain/expiry.ts";
import type {
  CheckoutReading,
  DaemonReading,
  FeatureReading,
  MemberReading,
  PoolReading,
  Reading,
} from "../../domain/reading.ts";
import { DAY_MS } from "../../domain/time/clock.ts";
import { wallClock } from "../../domain/time/zone.ts";
import type { RenderOptions } from "../manager.ts";

const SEPARATOR = "\t------------------------";
const DEFAULT_PORT = 5053;
/** First port for ISV servers without a port in the reading. Systems assign ports from this number on. */
export const FIRST_ISV_PORT = 49_152;

/**
 * Prints what rlmutil 12–14 prints for this reading; parsing it returns the reading. The format cannot express
 * fractions of a second, seats without a start or with one in a repeated hour, more than one reservation count per
 * product, members or daemons of unknown state, displays, PIDs, and queues. Names must not begin or end with a blank,
 * contain a line end, or look like lines of the tool.
 */
export function renderRlm(reading: Reading, { address, zone }: RenderOptions): string {
  const { members, daemons, errors, reportTime, toolVersion } = reading;
  const lines = [`Setting license file path to ${address}`];
  if (toolVersion !== null) lines.push(`rlmutil ${toolVersion}`);
  lines.push("Copyright (C) 2006-2017, Reprise Software, Inc. All rights reserved.", "", "");

  const up = members.filter(({ status }) => status === "up");
  for (const { host, port, version } of up) {
    lines.push(`\trlm status on ${host} (port ${port ?? DEFAULT_PORT}), up 1d 00:00:00`);
    lines.push(...printServer("rlm", version, reportTime, zone, null), "");
  }
  if (daemons.length > 0) lines.push(...printServerTable(daemons));
  for (const member of members) if (member.status !== "up") lines.push(...printMessage(errorOf(member)));
  for (const { message } of errors)
    if (!members.some(({ error }) => error?.message === message)) lines.push(...printMessage(message));

  const ofDaemon = Map.groupBy(reading.features, ({ daemon }) => daemon);
  for (const [index, daemon] of daemons.entries()) {
    if (daemon.error !== null) lines.push(...printMessage(daemon.error.message));
    if (daemon.status !== "up") continue;
    const where = `on ${up[0]?.host ?? "localhost"} (port ${daemon.port ?? FIRST_ISV_PORT + index})`;
    const features = ofDaemon.get(daemon.name) ?? [];
    lines.push("", SEPARATOR, "", `\t${daemon.name} ISV server status ${where}, up 1d 00:00:00`);
    lines.push(...printServer(daemon.name, daemon.version, reportTime, zone, daemon));
    lines.push("", "", SEPARATOR, "", `\t${daemon.name} license pool status ${where}`, "");
    for (const feature of features) lines.push(...printPools(feature));
    const usage = features.flatMap((feature) =>
      feature.checkouts.map((held) => printUsage(feature, held, held.startedAt ?? reportTime ?? 0, zone)),
    );
    if (usage.length === 0) continue;
    lines.push("", "", SEPARATOR, "", `\t${daemon.name} license usage status ${where}`, "");
    for (const line of usage) lines.push(line);
  }
  return `${lines.join("\n")}\n`;
}

function printServerTable(daemons: readonly DaemonReading[]): string[] {
  const rows = daemons.map((daemon, index) => {
    const running = daemon.status === "down" ? " No" : "Yes";
    const port = String(daemon.port ?? FIRST_ISV_PORT + index);
    return `\t${daemon.name.padEnd(17)}${port.padStart(6)}   ${running}      0`;
  });
  return ["\t--------- ISV servers ----------", "\t   Name           Port Running Restarts", ...rows];
}

/** `daemon` is null for rlm, which counts no checkouts. */
function printServer(
  name: string,
  version: string | null,
  reportTime: number | null,
  zone: string,
  daemon: DaemonReading | null,
): string[] {
  const lines: string[] = [];
  const build = daemon === null ? "2" : " 2";
  if (version !== null) lines.push(`\t${name} software version ${version} (build:${build})`);
  lines.push(`\t${name} comm version: v1.2`);
  if (reportTime !== null) {
    const begun = printLongTime(wallClock(zone, reportTime - DAY_MS));
    lines.push(
      `\tStartup time: ${begun}`,
      `\tTodays Statistics (1d 00:00:00), init time: ${begun}`,
      `\tRecent Statistics (1d 00:00:00), init time: ${begun}`,
    );
  }
  lines.push(
    "",
    "\t             Recent Stats         Todays Stats         Total Stats",
    "\t            1d 00:00:00          1d 00:00:00          1d 00:00:00",
  );
  const { checkouts, denials, removals } = daemon?.totals ?? {};
  const counters = {
    Messages: 0,
    Connections: 0,
    Checkouts: checkouts,
    Denials: denials,
    Removals: removals,
  };
  for (const [label, total] of Object.entries(counters)) {
    const counter = `${label}:`.padEnd(12);
    if (typeof total === "number")
      lines.push(`\t${counter} 0 (0/sec)           0 (0/sec)          ${total} (0/sec)`);
  }
  return lines;
}

function errorOf({ host, port, error }: MemberReading): string {
  if (error !== null) return error.message;
  return [
    'Error connecting to "rlm" server',
    `Connection attempted to host: "${host}" on port ${port ?? DEFAULT_PORT}`,
    "Cannot connect to license server (-17)",
    "Connection refused at server (comm: -4)",
  ].join("\n");
}

function printMessage(message: string): string[] {
  return ["", ...message.split("\n").flatMap((line) => [line, ""])];
}

function printPools(feature: FeatureReading): string[] {
  const lines: string[] = [];
  let reserved: number | null = feature.reserved ?? null;
  for (const pool of feature.pools) {
    const number = pool.number === null ? "" : `, pool: ${pool.number}`;
    lines.push(`\t${withVersion(feature.name, pool.version)}${number}`);
    lines.push(`\t\t${printCounts(pool, reserved)}`);
    if (pool.kind === "token") continue;
    lines.push("\t\tobsolete: 0, min_remove: 120, total checkouts: 0");
    if (reserved !== null) reserved = 0;
  }
  return lines;
}

function printCounts(pool: PoolReading, reserved: number | null): string {
  if (pool.kind === "token") return "Token-based license";
  const counts = {
    count: pool.total,
    "# reservations": reserved,
    inuse: pool.used,
    exp: printExpiry(pool.expiry),
  };
  const parts = Object.entries(counts).flatMap(([key, value]) =>
    value === null ? [] : [`${key}: ${value}`],
  );
  return [...(pool.unlimited ? ["UNCOUNTED"] : []), ...parts].join(", ");
}

/** Prints the license that serves the seat; in the old form if the client requested another version. */
function printUsage(feature: FeatureReading, held: CheckoutReading, startedAt: number, zone: string): string {
  const pool = held.pool === null ? undefined : feature.pools[held.pool];
  const served = pool === undefined ? held.version : pool.version;
  const old = served !== held.version && held.version !== null && held.handle !== null;
  return [
    `\t${withVersion(feature.name, served)}: ${held.user}`,
    held.host === null ? "" : `@${held.host}`,
    old ? `(${held.version}) (${held.handle})` : "",
    ` ${held.count}/0 at ${printYearless(wallClock(zone, startedAt))}`,
    old || held.handle === null ? "" : `  (handle: ${held.handle})`,
    held.borrowed ? " roam" : "",
    held.qualifier === null ? " " : ` [I: ${held.qualifier}]`,
  ].join("");
}

function withVersion(name: string, version: string | null): string {
  return version === null ? name : `${name} ${version}`;
}

/** Prints `Wed Nov  3 12:32:30 2021`. */
function printLongTime(local: number): string {
  const [weekday, day, month, year, time] = new Date(local).toUTCString().split(/,? /);
  return `${weekday} ${month} ${String(Number(day)).padStart(2)} ${time} ${year}`;
}

/** Prints `11/03 12:32`. */
function printYearless(local: number): string {
  return new Date(local).toISOString().slice(5, 16).replace("-", "/").replace("T", " ");
}
