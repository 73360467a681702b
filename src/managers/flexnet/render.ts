import { printExpiry } from "../../domain/expiry.ts";
import type {
  CheckoutReading,
  DaemonReading,
  FeatureReading,
  MemberReading,
  PoolReading,
  QueueReading,
  Reading,
  ReservationReading,
} from "../../domain/reading.ts";
import { wallClock } from "../../domain/time/zone.ts";
import type { RenderOptions } from "../manager.ts";
import { isTableOnly, renderTable, tableFeatures } from "./render-table.ts";

/** The first port that lmgrd tries when the license file names none. */
const DEFAULT_PORT = 27000;

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

interface BlockContext {
  readonly zone: string;
  /** `host/port` of the member that serves. */
  readonly server: string;
}

/** One feature's block: its header, what stands under no pool, and each pool with what stands under it. */
function renderBlock(feature: FeatureReading, context: BlockContext): string[] {
  const lines = [headerOf(feature), ""];
  lines.push(...heldOf(feature, null, context));
  for (const [index, pool] of feature.pools.entries()) {
    if (isTableOnly(feature, index)) continue;
    lines.push("", ...poolLines(feature, pool), ...heldOf(feature, index, context));
  }
  return lines;
}

function headerOf(feature: FeatureReading): string {
  if (feature.error !== null) {
    const { message } = feature.error;
    return message.startsWith("Error: ")
      ? `Users of ${feature.name}:  (${message})`
      : `Users of ${feature.name}: ${message}`;
  }
  if (feature.unlimited) return `Users of ${feature.name}:  (Uncounted, node-locked)`;
  const issued = seats(feature.total ?? 0);
  return `Users of ${feature.name}:  (Total of ${issued} issued;  Total of ${seats(feature.used ?? 0)} in use)`;
}

function poolLines(feature: FeatureReading, pool: PoolReading): string[] {
  const version = pool.version === null ? "" : ` ${pool.version}`;
  const expiry = printExpiry(pool.expiry);
  const expires = expiry === null ? "" : `, expiry: ${expiry === "permanent" ? PERMANENT : expiry}`;
  const lines = [`"${feature.name}"${version}, vendor: ${feature.daemon}${expires}`];
  if (pool.vendorString !== null) lines.push(`  vendor_string: ${pool.vendorString}`);
  const kind = KINDS[pool.kind];
  if (kind !== undefined) lines.push(`  ${kind}`);
  return [...lines, ""];
}

const PERMANENT = "permanent(no expiration date)";

const KINDS: Readonly<Partial<Record<PoolReading["kind"], string>>> = {
  floating: "floating license",
  nodelocked: 'nodelocked license, locked to "ID=20481"',
  uncounted: "uncounted nodelocked license locked to NOTHING (hostid=ANY)",
};

function heldOf(feature: FeatureReading, pool: number | null, context: BlockContext): string[] {
  const lines = [
    ...feature.reservations.filter((held) => held.pool === pool).map((held) => reservation(held, context)),
    ...feature.checkouts.filter((held) => held.pool === pool).map((held) => checkout(held, context)),
    ...feature.queue.filter((held) => held.pool === pool).map((held) => queued(held, context)),
  ];
  return lines.length === 0 ? [] : [...lines, ""];
}

function reservation({ count, type, name }: ReservationReading, { server }: BlockContext): string {
  const owner = type === "other" ? name : `${type.toUpperCase()} ${name}`;
  return `\t${count} RESERVATION${count === 1 ? "" : "s"} for ${owner} (${server})`;
}

function checkout(held: CheckoutReading, context: BlockContext): string {
  const count = held.count === 1 ? "" : `, ${held.count} licenses`;
  const linger = held.lingerSeconds === null ? "" : `  (linger: ${held.lingerSeconds})`;
  const pid = held.pid === null ? "" : `, PID: ${held.pid}`;
  return `    ${holder(held, context)}, start ${printStart(held.startedAt, context.zone)}${count}${linger}${pid}`;
}

function queued(held: QueueReading, context: BlockContext): string {
  return `    ${holder(held, context)} queued for ${seats(held.count)}`;
}

function holder(held: CheckoutReading | QueueReading, { server }: BlockContext): string {
  const identity = [held.user, held.host, held.display, held.qualifier].filter((part) => part !== null);
  const version = held.version === null ? "" : ` (${held.version})`;
  const handle = held.handle === null ? "" : ` ${held.handle}`;
  return `${identity.join(" ")}${version} (${server}${handle})`;
}

function seats(count: number): string {
  return `${count} license${count === 1 ? "" : "s"}`;
}

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** `Fri 10/20 16:44` in the zone; a time that is not known gets a date that no year has. */
function printStart(startedAt: number | null, zone: string): string {
  if (startedAt === null) return "Mon 0/0 0:00";
  const local = new Date(wallClock(zone, startedAt));
  const date = `${local.getUTCMonth() + 1}/${local.getUTCDate()}`;
  const minute = String(local.getUTCMinutes()).padStart(2, "0");
  return `${WEEKDAYS[local.getUTCDay()]} ${date} ${local.getUTCHours()}:${minute}`;
}
