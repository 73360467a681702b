import { expiryOn } from "../../domain/expiry.ts";
import {
  type CheckoutReading,
  type Expiry,
  type FeatureReading,
  PERMANENT,
  UNKNOWN_EXPIRY,
} from "../../domain/reading.ts";
import { isDate, localToUtc } from "../../domain/time/zone.ts";
import type { Unit } from "../../domain/words.ts";
import { compareCounts, singlePoolFeature, sumOfCounts } from "../reading-parts.ts";

export const TOOL_VERSION = /^LM-X End-user Utility (v\S{1,60})$/;
/** Matches rules, the copyright, and the shell's echo of the command in pasted outputs. */
export const FRAME = /^(?:-{8,}|\+{8,}|Copyright \(C\) .*X-Formation.*|[$#%>] .*\blmxendutil\b.*)$/;
/** Matches `LM-X License Server on 6200@host:`, the heading of one server's part. */
export const SERVER = /^LM-X License Server on (\d{1,5})@([^\s@]+):$/;
/** Matches `Server version: v5.1 Uptime: 3 day(s) 12 hour(s) 0 min(s) 51 sec(s)`. */
export const SERVER_VERSION = /^Server version: (v\S{1,60})(?: Uptime: .*)?$/;
/** Matches the line with the vendor, which some versions print between the heading and the version. */
export const VENDOR = /^Vendor \S.*:$/;
export const SERVER_LIST = /^LM-X license server\(s\):$/;
export const NO_SERVERS = /^There are no license server\(s\) available\.$/;
export const XF_ERROR = /^XF Error: (?:.*)$/s;
export const KEY_TYPE = /^Key type: (\S+)(?: License sharing:.*)?$/s;
/**
 * Denials of the last 24 hours. This is a sliding window, not a counter, so the difference between two polls is not
 * the number of new denials.
 */
export const DENIALS = /^\d{1,15} (?!license\(s\) used by ).*\blast 24 hours\b.*$/;

const VENDOR_KEY = " Vendor: ";
const VERSION_KEY = " Version: ";
const FEATURE_KEY = "Feature: ";

/**
 * Parses `Feature: NAME Version: 21.0 Vendor: NAME` from the right, because the name may contain anything. Returns
 * null for other lines.
 */
export function parseFeatureLine(text: string) {
  if (!text.startsWith(FEATURE_KEY)) return null;
  const vendorAt = text.lastIndexOf(VENDOR_KEY);
  const versionAt = vendorAt === -1 ? -1 : text.lastIndexOf(VERSION_KEY, vendorAt - 1);
  const name = versionAt === -1 ? "" : text.slice(FEATURE_KEY.length, versionAt);
  const version = text.slice(versionAt + VERSION_KEY.length, vendorAt);
  const vendor = text.slice(vendorAt + VENDOR_KEY.length);
  return name === "" || version === "" || vendor === "" ? null : { name, version, vendor };
}

/** Number that LM-X prints for "unlimited": the largest signed 32-bit number. */
export const UNLIMITED = 2_147_483_647;

const COUNTS = /^(\d{1,15}) (?:of (\d{1,15}|unlimited) )?license\(s\) used:?$/i;

/** Parses `40000 of 1000003 license(s) used:`; the colon appears if users follow. */
export function parseCounts(text: string) {
  const found = COUNTS.exec(text);
  if (found === null) return null;
  const unlimited = found[2]?.toLowerCase() === "unlimited" || Number(found[2]) === UNLIMITED;
  const total = unlimited || found[2] === undefined ? null : Number(found[2]);
  return { used: Number(found[1]), total, unlimited };
}

const HOLDER = /^(\d{1,15}) license\(s\) used by (.*)$/s;

/**
 * Parses `15000 license(s) used by USER@HOST [192.0.2.7]`. The host follows the last `@`, because a user may be an
 * email address. Returns null for other lines and for a count of 0.
 */
export function parseHolder(text: string) {
  const [, countText = "0", who = ""] = HOLDER.exec(text) ?? [];
  const count = Number(countText);
  if (count === 0 || who === "") return null;
  const addressAt = who.endsWith("]") ? who.lastIndexOf(" [") : -1;
  const end = addressAt === -1 ? who.length : addressAt;
  const at = who.slice(0, end).lastIndexOf("@");
  return {
    count,
    user: who.slice(0, at === -1 ? end : at) || null,
    host: at === -1 ? null : who.slice(at + 1, end) || null,
    address: addressAt === -1 ? null : who.slice(addressAt + 2, -1) || null,
  };
}

const CUSTOM = "Shared on custom string: ";
const SHARED = /^Shared on (?:custom string|username|hostname):/;

/**
 * Parses `Shared on custom string: X`. Returns undefined for other lines, and null for `Shared on username:
 * U   Shared on hostname: H`, which repeats the holder's line.
 */
export function parseShared(text: string): string | null | undefined {
  if (!SHARED.test(text)) return undefined;
  const at = text.indexOf(CUSTOM);
  return at === -1 ? null : text.slice(at + CUSTOM.length) || null;
}

const TIME = String.raw`(\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?)`;
const TIMES = new RegExp(
  String.raw`^(?=[LCB])(?:Login time: ${TIME}\s*)?(?:Checkout time: ${TIME}\s*)?(?:Borrow expire time: ${TIME}\s*)?$`,
);

/** Parses `Login time: T   Checkout time: T`, optionally followed or replaced by `Borrow expire time: T`. */
export function parseTimes(text: string) {
  const found = TIMES.exec(text);
  if (found === null) return null;
  const [, login, checkout, borrowedUntil] = found;
  return { startedAt: checkout ?? login ?? null, borrowed: borrowedUntil !== undefined };
}

/** Reads `2022-02-18 09:26[:30]` by the server's clock; null for an impossible time. */
export function createTimeReader(zone: string) {
  const known = new Map<string, number | null>();

  function read(text: string): number | null {
    const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = text.split(/[- :]/).map(Number);
    if (!isDate(year, month, day) || hour > 23 || minute > 59 || second > 60) return null;
    return localToUtc(zone, year, month, day, hour, minute, second);
  }
  return (text: string): number | null => known.getOrInsertComputed(text, read);
}

const DATES = /^Start date: \S+ Expire date: (?:(\d{4})-(\d\d)-(\d\d)|(NONE))$/;

/** Parses `Start date: 2022-02-17 Expire date: 2023-01-31`; either may be `NONE`. */
export function parseDates(text: string, zone: string): Expiry | null {
  const found = DATES.exec(text);
  if (found === null) return null;
  if (found[4] !== undefined) return PERMANENT;
  const [year = 0, month = 0, day = 0] = found.slice(1, 4).map(Number);
  return isDate(year, month, day) ? expiryOn(zone, year, month, day) : null;
}

export type FeatureDraft = ReturnType<typeof createFeatureDraft>;

export function createFeatureDraft(head: NonNullable<ReturnType<typeof parseFeatureLine>>) {
  return {
    head,
    keyType: "",
    expiry: UNKNOWN_EXPIRY as Expiry,
    counts: null as ReturnType<typeof parseCounts>,
    checkouts: [] as CheckoutReading[],
    /** True if the output ended inside this block, or if a line of the block was not understood. */
    cut: false,
  };
}

/** Reads one version of a feature. Each version is a block of its own; the picture merges the versions into pools. */
export function readFeature({ head, keyType, expiry, counts, checkouts, cut }: FeatureDraft): FeatureReading {
  const { name, version, vendor: daemon } = head;
  const { total, used, unlimited } = counts ?? { total: null, used: null, unlimited: false };
  const unit = unitOf(head, keyType, unlimited);
  const kind = keyType === "TOKEN" ? "token" : unlimited ? "uncounted" : "floating";
  const consistency = compareCounts(used, sumOfCounts(checkouts));
  return singlePoolFeature(
    { daemon, name, unit, total, used, unlimited, checkouts, queue: [], consistency, cut },
    { version, kind, expiry },
  );
}

const UNITS = /^(?:HyperWorks|GlobalZone(?:AM|EU|AP))$/i;

/**
 * Returns the unit of a feature's counts. lmxendutil does not print it; two documents explain it.
 *
 * - A license of type TOKEN draws on other features (LM-X documentation, "Key type").
 * - Altair sells units: one unit is 1000 licenses of `HyperWorks`. A program takes the same number from `GlobalZoneXX`,
 *   `HyperWorks` and its own feature, which is named `HW…` and is unlimited (Altair HyperWorks documentation,
 *   "HyperWorks Licensing Units" and "Global Licensing"). A feature that is licensed separately, such as CatiaV5Reader,
 *   has its product's name and a limit, and counts seats.
 *
 * Such features have no seat group: each is charged and limited separately, so their totals differ.
 */
export function unitOf(
  { name, vendor }: { readonly name: string; readonly vendor: string },
  keyType: string,
  unlimited: boolean,
): Unit {
  if (keyType === "TOKEN") return "tokens";
  if (vendor.toUpperCase() !== "ALTAIR") return "seats";
  return unlimited || UNITS.test(name) || name.startsWith("HW") ? "tokens" : "seats";
}
