import { printExpiry } from "../../domain/expiry.ts";
import type {
  CheckoutReading,
  DaemonReading,
  FeatureReading,
  MemberReading,
  PoolReading,
  Reading,
} from "../../domain/reading.ts";
import { wallClock } from "../../domain/time/zone.ts";
import type { RenderOptions } from "../manager.ts";

const SEPARATOR = "\t------------------------";
const DAY_MS = 86_400_000;
/** For ISV servers whose port the reading does not have; real ones are given out by the system from here on. */
const FIRST_ISV_PORT = 49_152;

/**
 * What rlmutil 12–14 prints for this reading; parsing it gives the reading again. RLM's text has no place for:
 * fractions of a second, seats without a start or in an hour that the clocks repeat, more than one reservation
 * figure a product, a member or daemon of unknown state, displays, PIDs, queues. Names do not begin or end with a
 * blank, hold no line end, and do not themselves look like the tool's own lines.
 */
export function renderRlm(reading: Reading, options: RenderOptions): string {
  const lines = [`Setting license file path to ${options.address}`];
  if (reading.toolVersion !== null) lines.push(`rlmutil ${reading.toolVersion}`);
  lines.push("Copyright (C) 2006-2017, Reprise Software, Inc. All rights reserved.", "", "");

  for (const member of reading.members) {
    if (member.status === "up") lines.push(...printMember(member, reading, options));
  }
  if (reading.daemons.length > 0) lines.push(...printServerTable(reading.daemons));
  for (const member of reading.members) {
    if (member.status !== "up") lines.push(...printMemberError(member));
  }
  for (const error of reading.errors) {
    if (!reading.members.some((member) => member.error?.message === error.message)) {
      lines.push(...printMessage(error.message));
    }
  }

  const host = reading.members.find(({ status }) => status === "up")?.host ?? "localhost";
  const ofDaemon = groupByDaemon(reading.features);
  for (const [index, daemon] of reading.daemons.entries()) {
    if (daemon.error !== null) lines.push(...printMessage(daemon.error.message));
    if (daemon.status !== "up") continue;
    const where = `on ${host} (port ${daemon.port ?? FIRST_ISV_PORT + index})`;
    const features = ofDaemon.get(daemon.name) ?? [];
    lines.push("", SEPARATOR, "", `\t${daemon.name} ISV server status ${where}, up 1d 00:00:00`);
    lines.push(...printServer(daemon.name, daemon.version, reading.reportTime, options.zone, daemon));
    lines.push("", "", SEPARATOR, "", `\t${daemon.name} license pool status ${where}`, "");
    for (const feature of features) lines.push(...printPools(feature));
    if (features.every(({ checkouts }) => checkouts.length === 0)) continue;
    lines.push("", "", SEPARATOR, "", `\t${daemon.name} license usage status ${where}`, "");
    for (const feature of features) {
      for (const checkout of feature.checkouts) {
        lines.push(
          printUsage(feature, checkout, checkout.startedAt ?? reading.reportTime ?? 0, options.zone),
        );
      }
    }
  }
  return `${lines.join("\n")}\n`;
}

function groupByDaemon(features: readonly FeatureReading[]): Map<string, FeatureReading[]> {
  const groups = new Map<string, FeatureReading[]>();
  for (const feature of features) {
    const group = groups.get(feature.daemon);
    if (group === undefined) groups.set(feature.daemon, [feature]);
    else group.push(feature);
  }
  return groups;
}

function printMember(member: MemberReading, reading: Reading, options: RenderOptions): string[] {
  const port = member.port ?? 5053;
  return [
    `\trlm status on ${member.host} (port ${port}), up 1d 00:00:00`,
    ...printServer("rlm", member.version, reading.reportTime, options.zone, null),
    "",
  ];
}

function printServerTable(daemons: readonly DaemonReading[]): string[] {
  const rows = daemons.map(({ name, status, port }, index) => {
    const running = status === "down" ? " No" : "Yes";
    return `\t${name.padEnd(17)}${String(port ?? FIRST_ISV_PORT + index).padStart(6)}   ${running}      0`;
  });
  return ["\t--------- ISV servers ----------", "\t   Name           Port Running Restarts", ...rows];
}

/** The lines that every server prints of itself. `daemon` is null for rlm itself, which counts no checkouts. */
function printServer(
  name: string,
  version: string | null,
  reportTime: number | null,
  zone: string,
  daemon: DaemonReading | null,
): string[] {
  const lines: string[] = [];
  if (version !== null)
    lines.push(`\t${name} software version ${version} (build:${daemon === null ? "" : " "}2)`);
  lines.push(`\t${name} comm version: v1.2`);
  if (reportTime !== null) {
    const since = reportTime - DAY_MS;
    const begun = printLongTime(wallClock(zone, since));
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
  const counter = (label: string, total: number | null) => {
    if (total !== null) lines.push(`\t${label} 0 (0/sec)           0 (0/sec)          ${total} (0/sec)`);
  };
  counter("Messages:   ", 0);
  counter("Connections:", 0);
  counter("Checkouts:  ", daemon?.totals?.checkouts ?? null);
  counter("Denials:    ", daemon?.totals?.denials ?? null);
  counter("Removals:   ", daemon?.totals?.removals ?? null);
  return lines;
}

function printMemberError(member: MemberReading): string[] {
  return printMessage(
    member.error?.message ??
      `Error connecting to "rlm" server\nConnection attempted to host: "${member.host}" on port ${member.port ?? 5053}\n` +
        "Cannot connect to license server (-17)\nConnection refused at server (comm: -4)",
  );
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
  const expiry = printExpiry(pool.expiry);
  return [
    ...(pool.unlimited ? ["UNCOUNTED"] : []),
    ...(pool.total === null ? [] : [`count: ${pool.total}`]),
    ...(reserved === null ? [] : [`# reservations: ${reserved}`]),
    ...(pool.used === null ? [] : [`inuse: ${pool.used}`]),
    ...(expiry === null ? [] : [`exp: ${expiry}`]),
  ].join(", ");
}

/** The line names the license that serves the seat; where the client asked for another version, in the old form. */
function printUsage(
  feature: FeatureReading,
  checkout: CheckoutReading,
  startedAt: number,
  zone: string,
): string {
  const pool = checkout.pool === null ? undefined : feature.pools[checkout.pool];
  const served = pool === undefined ? checkout.version : pool.version;
  const old = served !== checkout.version && checkout.version !== null && checkout.handle !== null;
  const time = printYearless(wallClock(zone, startedAt));
  return [
    `\t${withVersion(feature.name, served)}: ${checkout.user}`,
    checkout.host === null ? "" : `@${checkout.host}`,
    old ? `(${checkout.version}) (${checkout.handle})` : "",
    ` ${checkout.count}/0 at ${time}`,
    old || checkout.handle === null ? "" : `  (handle: ${checkout.handle})`,
    checkout.borrowed ? " roam" : "",
    checkout.qualifier === null ? " " : ` [I: ${checkout.qualifier}]`,
  ].join("");
}

function withVersion(name: string, version: string | null): string {
  return version === null ? name : `${name} ${version}`;
}

/** `Wed Nov  3 12:32:30 2021`, of an instant whose zone offset is already added. */
function printLongTime(local: number): string {
  // `Wed, 03 Nov 2021 12:32:30 GMT`
  const [weekday = "", day = "", month = "", year = "", time = ""] = new Date(local)
    .toUTCString()
    .split(/,? /);
  return `${weekday} ${month} ${String(Number(day)).padStart(2)} ${time} ${year}`;
}

/** `11/03 12:32`, likewise. */
function printYearless(local: number): string {
  // `2021-11-03T12:32:30.000Z`
  return new Date(local).toISOString().slice(5, 16).replace("-", "/").replace("T", " ");
}
