import type { DaemonReading, MemberReading, Reading } from "../../domain/reading.ts";
import { wallClock } from "../../domain/zone.ts";
import type { RenderOptions } from "../manager.ts";
import { DEFAULT_PORT } from "./address.ts";
import { type BlockContext, renderBlock } from "./render-block.ts";
import { renderTable, tableFeatures } from "./render-table.ts";
import { WEEKDAYS } from "./render-time.ts";

/**
 * The reading as lmstat 11.16–11.19 prints it with `-a -i`. Reading it back gives the same reading, except for
 * what its grammar cannot carry: line ends in names, seconds of start times, words that look like another part
 * of an identity (see `identity.ts`), totals of pools that are equal in version and expiry, cut and unparsed text.
 */
export function render(reading: Reading, options: RenderOptions): string {
  const lines: string[] = [
    "lmutil - Copyright (c) 1989-2024 Flexera. All Rights Reserved.",
    ...(reading.toolVersion === null ? [] : [`lmstat ${reading.toolVersion} build 305125 x64_lsb`]),
    ...(reading.reportTime === null ? [] : [bannerOf(reading.reportTime, options.zone)]),
    "",
    ...membersOf(reading.members, options),
  ];
  for (const error of reading.errors) lines.push(error.message);
  if (reading.errors.length > 0) lines.push("");

  const serving = servingMember(reading.members);
  if (reading.daemons.length > 0)
    lines.push(`Vendor daemon status (on ${serving?.host ?? "localhost"}):`, "");
  const context: BlockContext = {
    zone: options.zone,
    server: `${serving?.host ?? "localhost"}/${serving?.port ?? DEFAULT_PORT}`,
  };
  lines.push(...daemonsOf(reading, context), ...renderTable(reading.features));
  return `${lines.join("\n")}\n`;
}

function bannerOf(reportTime: number, zone: string): string {
  const local = new Date(wallClock(zone, reportTime));
  const date = `${local.getUTCMonth() + 1}/${local.getUTCDate()}/${local.getUTCFullYear()}`;
  const minute = String(local.getUTCMinutes()).padStart(2, "0");
  // The banner pads its hour, start times do not.
  const hour = String(local.getUTCHours()).padStart(2, "0");
  return `Flexible License Manager status on ${WEEKDAYS[local.getUTCDay()]} ${date} ${hour}:${minute}`;
}

function membersOf(members: readonly MemberReading[], options: RenderOptions): string[] {
  const [first] = members;
  if (first === undefined) return [];
  const spec = members.map(({ host, port }) => (port === null ? `@${host}` : `${port}@${host}`)).join(",");
  const file = /^(?:\/|[A-Za-z]:[\\/])/.test(options.address)
    ? options.address
    : "/opt/flexnet/licenses/license.lic";
  const lines = [
    `License server status: ${spec}`,
    `    License file(s) on ${first.host}: ${file}:`,
    "",
    ...members.flatMap(memberLine),
  ];
  return [...lines, ""];
}

function memberLine(member: MemberReading): string[] {
  if (member.error !== null) return [`${member.host}: ${member.error.message}`];
  if (member.status === "unknown") return [];
  const state = member.status === "up" ? "UP" : "DOWN";
  const parts = [state, member.master ? "(MASTER)" : null, member.version].filter((part) => part !== null);
  return [`${member.host}: license server ${parts.join(" ")}`];
}

/** The member whose name stands in checkouts: the master, else the first that is up. */
function servingMember(members: readonly MemberReading[]): MemberReading | undefined {
  return (
    members.find((member) => member.master && member.status === "up") ??
    members.find((member) => member.status === "up") ??
    members[0]
  );
}

/** Each daemon with the features that follow it; its line is repeated where the order of features comes back to it. */
function daemonsOf(reading: Reading, context: BlockContext): string[] {
  const fromTable = tableFeatures(reading.features);
  const features = reading.features.filter((feature) => !fromTable.has(feature));
  const lines: string[] = [];
  const left = [...reading.daemons];
  let current: string | null = null;
  for (const feature of features) {
    if (feature.daemon !== (current ?? "")) {
      while (current !== feature.daemon) {
        const next = left.shift();
        const daemon = next ?? reading.daemons.find((known) => known.name === feature.daemon);
        if (daemon === undefined) break;
        lines.push(...daemonLine(daemon));
        current = daemon.name;
      }
      lines.push("Feature usage info:", "");
    } else if (lines.length === 0) {
      lines.push("Feature usage info:", "");
    }
    lines.push(...renderBlock(feature, context));
  }
  for (const daemon of left) lines.push(...daemonLine(daemon));
  return lines;
}

function daemonLine(daemon: DaemonReading): string[] {
  const indent = " ".repeat(Math.max(2, 10 - daemon.name.length));
  const status = daemon.status === "up" ? "UP" : "DOWN";
  const words = daemon.error?.message ?? (daemon.version === null ? status : `${status} ${daemon.version}`);
  return [`${indent}${daemon.name}: ${words}`];
}
