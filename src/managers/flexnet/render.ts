import { printExpiry } from "../../domain/expiry.ts";
import type {
  CheckoutReading,
  DaemonReading,
  FeatureReading,
  MemberReading,
  PoolReading,
  QueueReading,
  Reading,
} from "../../domain/reading.ts";
import { wallClock } from "../../domain/time/zone.ts";
import type { RenderOptions } from "../manager.ts";
import { ACTIVATED } from "./seat-line.ts";

const DEFAULT_PORT = 27000;
const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const PERMANENT = "permanent(no expiration date)";
const KINDS: Readonly<Partial<Record<PoolReading["kind"], string>>> = {
  floating: "floating license",
  nodelocked: 'nodelocked license, locked to "ID=20481"',
  uncounted: "uncounted nodelocked license locked to NOTHING (hostid=ANY)",
};

/**
 * Prints the reading as lmstat 11.16–11.19 does with `-a -i`. Parsing it returns the same reading, except for data
 * that the format cannot express: line ends in names, seconds of start times, words that look like another part of an
 * identity (see `identity.ts`), totals of pools that are equal in version and expiry, cut and unparsed text.
 */
export function render(reading: Reading, { address, zone }: RenderOptions): string {
  const { members, daemons, features } = reading;
  // Checkouts name the master, or the first member that is up.
  const up = members.filter(({ status }) => status === "up");
  const serving = up.find(({ master }) => master) ?? up[0] ?? members[0];
  const host = serving?.host ?? "localhost";
  const lines = ["lmutil - Copyright (c) 1989-2024 Flexera. All Rights Reserved."];
  if (reading.toolVersion !== null) lines.push(`lmstat ${reading.toolVersion} build 305125 x64_lsb`);
  if (reading.reportTime !== null) lines.push(bannerOf(reading.reportTime, zone));
  lines.push("", ...membersOf(members, address));
  for (const error of reading.errors) lines.push(error.message);
  if (reading.errors.length > 0) lines.push("");
  if (daemons.length > 0) lines.push(`Vendor daemon status (on ${host}):`, "");
  lines.push(...daemonsOf(reading, `${host}/${serving?.port ?? DEFAULT_PORT}`, zone));
  lines.push(...tableOf(features));
  return `${lines.join("\n")}\n`;
}

function bannerOf(reportTime: number, zone: string): string {
  const { weekday, date, hour, minute, year } = clockOf(reportTime, zone);
  // Unlike start times, the banner pads its hour with a zero.
  return `Flexible License Manager status on ${weekday} ${date}/${year} ${hour.padStart(2, "0")}:${minute}`;
}

function clockOf(at: number, zone: string) {
  const local = new Date(wallClock(zone, at));
  return {
    weekday: WEEKDAYS[local.getUTCDay()],
    year: local.getUTCFullYear(),
    date: `${local.getUTCMonth() + 1}/${local.getUTCDate()}`,
    hour: String(local.getUTCHours()),
    minute: String(local.getUTCMinutes()).padStart(2, "0"),
  };
}

function membersOf(members: readonly MemberReading[], address: string): string[] {
  const [first] = members;
  if (first === undefined) return [];
  const spec = members.map(({ host, port }) => `${port ?? ""}@${host}`).join(",");
  const file = /^(?:\/|[A-Za-z]:[\\/])/.test(address) ? address : "/opt/flexnet/licenses/license.lic";
  const asked = [`License server status: ${spec}`, `    License file(s) on ${first.host}: ${file}:`];
  return [...asked, "", ...members.flatMap(memberLine), ""];
}

function memberLine({ host, status, master, version, error }: MemberReading): string[] {
  if (error !== null) return [`${host}: ${error.message}`];
  if (status === "unknown") return [];
  const parts = [status.toUpperCase(), master ? "(MASTER)" : null, version].filter((part) => part !== null);
  return [`${host}: license server ${parts.join(" ")}`];
}

/** Prints each daemon before its features, repeatedly if their order requires it. `server`: `host/port`. */
function daemonsOf(reading: Reading, server: string, zone: string): string[] {
  const lines: string[] = [];
  const left = [...reading.daemons];
  let current: string | null = null;
  for (const feature of reading.features) {
    if (feature.fromFile) continue;
    const moves = feature.daemon !== (current ?? "");
    while (moves && current !== feature.daemon) {
      const daemon = left.shift() ?? reading.daemons.find(({ name }) => name === feature.daemon);
      if (daemon === undefined) break;
      lines.push(daemonLine(daemon));
      current = daemon.name;
    }
    if (moves || lines.length === 0) lines.push("Feature usage info:", "");
    lines.push(headerOf(feature), "", ...heldOf(feature, null, server, zone));
    for (const [index, pool] of feature.pools.entries())
      if (!isTableOnly(feature, index))
        lines.push("", ...poolOf(feature, pool), ...heldOf(feature, index, server, zone));
  }
  return [...lines, ...left.map(daemonLine)];
}

function daemonLine({ name, status, version, error }: DaemonReading): string {
  const state = status === "up" ? "UP" : "DOWN";
  const words = error?.message ?? (version === null ? state : `${state} ${version}`);
  return `${" ".repeat(Math.max(2, 10 - name.length))}${name}: ${words}`;
}

function headerOf({ name, total, used, unlimited, error }: FeatureReading): string {
  if (error?.message.startsWith("Error: ")) return `Users of ${name}:  (${error.message})`;
  if (error !== null) return `Users of ${name}: ${error.message}`;
  if (unlimited) return `Users of ${name}:  (Uncounted, node-locked)`;
  const [issued, inUse] = [seats(total ?? 0), seats(used ?? 0)];
  return `Users of ${name}:  (Total of ${issued} issued;  Total of ${inUse} in use)`;
}

function seats(count: number): string {
  return `${count} license${count === 1 ? "" : "s"}`;
}

function poolOf(feature: FeatureReading, { version, expiry, vendorString, kind }: PoolReading): string[] {
  const until = expiryOf(expiry);
  const head = `"${feature.name}"${version === null ? "" : ` ${version}`}, vendor: ${feature.daemon}`;
  const lines = [until === null ? head : `${head}, expiry: ${until}`];
  if (vendorString !== null) lines.push(`  vendor_string: ${vendorString}`);
  if (KINDS[kind] !== undefined) lines.push(`  ${KINDS[kind]}`);
  return [...lines, ""];
}

function expiryOf(expiry: PoolReading["expiry"]): string | null {
  return expiry.permanent ? PERMANENT : printExpiry(expiry);
}

function heldOf(feature: FeatureReading, pool: number | null, server: string, zone: string): string[] {
  const under = (held: { readonly pool: number | null }) => held.pool === pool;
  const lines: string[] = [];
  for (const { count, type, name } of feature.reservations.filter(under)) {
    const owner = type === "other" ? name : `${type.toUpperCase()} ${name}`;
    lines.push(`\t${count} RESERVATION${count === 1 ? "" : "s"} for ${owner} (${server})`);
  }
  for (const held of feature.checkouts.filter(under)) {
    const count = held.count === 1 ? "" : `, ${held.count} licenses`;
    const linger = held.lingerSeconds === null ? "" : `  (linger: ${held.lingerSeconds})`;
    const pid = held.pid === null ? "" : `, PID: ${held.pid}`;
    lines.push(`    ${holder(held, server)}, start ${startOf(held, zone)}${count}${linger}${pid}`);
  }
  for (const held of feature.queue.filter(under))
    lines.push(`    ${holder(held, server)} queued for ${seats(held.count)}`);
  return lines.length === 0 ? [] : [...lines, ""];
}

function holder(held: CheckoutReading | QueueReading, server: string): string {
  const identity = [held.user ?? ACTIVATED, held.host, held.display, held.qualifier].filter(
    (part) => part !== null,
  );
  const version = held.version === null ? "" : ` (${held.version})`;
  const handle = held.handle === null ? "" : ` ${held.handle}`;
  return `${identity.join(" ")}${version} (${server}${handle})`;
}

/** Prints the start. An unknown start is printed as an impossible date. */
function startOf({ startedAt }: CheckoutReading, zone: string): string {
  if (startedAt === null) return "Mon 0/0 0:00";
  const { weekday, date, hour, minute } = clockOf(startedAt, zone);
  return `${weekday} ${date} ${hour}:${minute}`;
}

/**
 * Prints the table of `-i` in the newer column order (Vendor before Expires), with the pools that a license
 * file can list: their version, expiry and count are known.
 */
function tableOf(features: readonly FeatureReading[]): string[] {
  const rows = features.flatMap((feature) => feature.pools.flatMap((pool) => rowOf(feature, pool)));
  if (rows.length === 0) return [];
  return [
    "",
    "NOTE: lmstat -i does not give information from the server,",
    "      but only reads the license file.  For this reason,",
    "      lmstat -a is recommended instead.",
    "",
    row("Feature", "Version", "#licenses", "Vendor", "Expires"),
    row("_______", "_________", "_________", "______", "________"),
    ...rows,
  ];
}

/** Reports whether only the table describes the pool. */
function isTableOnly(feature: FeatureReading, index: number): boolean {
  const pool = feature.pools[index];
  if (pool?.kind !== "unknown" || pool.vendorString !== null || !fitsTable(feature.daemon, pool))
    return false;
  const { checkouts, reservations, queue } = feature;
  return ![...checkouts, ...reservations, ...queue].some((held) => held.pool === index);
}

/** A count of 0 in a license file means uncounted. */
function fitsTable(daemon: string, { version, total, unlimited, expiry }: PoolReading): boolean {
  return daemon !== "" && version !== null && ((total ?? 0) > 0 || unlimited) && printExpiry(expiry) !== null;
}

function rowOf({ name, daemon }: FeatureReading, pool: PoolReading): string[] {
  if (!fitsTable(daemon, pool)) return [];
  const count = pool.unlimited ? "uncounted" : String(pool.total);
  return [row(name, (pool.version ?? "").replace(/^v/, ""), count, daemon, expiryOf(pool.expiry) ?? "")];
}

function row(feature: string, version: string, count: string, vendor: string, expires: string): string {
  return `${feature.padEnd(31)} ${version.padEnd(11)} ${count.padEnd(12)} ${vendor.padEnd(13)} ${expires}`;
}
