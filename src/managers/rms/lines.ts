import { expiryOn } from "../../domain/expiry.ts";
import { type Expiry, PERMANENT } from "../../domain/reading.ts";
import { isDate, localToUtc, weekdayOf } from "../../domain/time/zone.ts";
import { endOfText, skipBlanks, trimBlanks } from "../blanks-and-digits.ts";

/**
 * Matches the tool's banner. A vendor's own kit may have another name than `Sentinel RMS Development Kit`.
 */
export const BANNER = /^\S.{0,80} (\d[\w.]{0,60}) Application Monitor$/;
export const COPYRIGHT = /^Copyright \(C\) /;
/** Matches `[Contacting Sentinel RMS Development Kit server on host "lic1"]`. */
export const CONTACT = /^\[Contacting .{1,80} server on host "(.*)"\]$/s;
/** Last line of lsmon on Windows; on Unix the output has no end mark. */
export const END_MARK = /^Press Enter to continue(?: \.){3}$/;
export const NO_LICENSE = /^(?:No licensed features\.|There is no license in the server .*)$/s;
/** Matches advice that does not apply, because licmond always names the host. */
export const ADVICE = /^Try setting the LSHOST environment variable\.$/;

/** Matches errors in lsmon's message catalogue; none was seen in a real output. */
const NO_ANSWER =
  /Server name not set, or monitor cannot talk|Unable to (?:contact any servers|talk to host)|Cannot talk to the license server|Failed to resolve the server host|is not responding|servers (?:are )?running on this subnet|either not valid or cannot be resolved/;
const REFUSAL =
  /^Error\b|not authorized|Client-server version mismatch|clock tamper|not supported on this license server|[Ii]nternal error|Could not understand the message/;

export function errorKind(text: string): "unreachable" | "query" | null {
  if (text.length > 500) return null;
  if (NO_ANSWER.test(text)) return "unreachable";
  return REFUSAL.test(text) ? "query" : null;
}

export type Section = "feature" | "license" | "client" | "queued" | "other";

const SECTIONS = new Map<string, Section>([
  ["Feature Information", "feature"],
  ["License Information", "license"],
  ["Client Information", "client"],
  ["Queued Client Information", "queued"],
]);

/** Keys that licmond does not use, from lsmon's message catalogue. `#` matches a number. */
const UNUSED = new Set(
  `License type|License Version|License Code|License Hash|License storage name|License status|License precedence
Commuter license allowed|Commuter tokens in use|Commuter tokens left|Maximum commuter checkout days|Commuter checkout days
Available unreserved|Unreserved tokens in queue|Reserved tokens in queue|Queue Length|Tokens required by queue
Soft limit on users|License start date|License granted, at time|Deferred revocation date|Marked for deferred revocation
Log encryption level|Check time tamper|Application-server locking|Client locking code|Client ## locking code|Server ## locking code
Additive/exclusive/aggregate|Sharing criterion|Sharing limit|Held licenses|Hold time|Token lifetime (heartbeat)|Valid on subnet(s)
Public vendor information|Private vendor information|Allowed on VM|Is redundant license?|Redundant servers|Redundant server status|Majority rule
Conversion Time|Elan License status|Trial period|Trial days|Trial elapsed hours|Trial execution count|Trial calendar period left
Trial elapsed period left|Trial executions left|Trial current status|Is grace period allowed|Grace period days allowed|Grace period hours allowed
Is overdraft allowed|Maximum overdraft hours|Maximum overdraft users|Number of overdraft users|Group name|Token shared by
No of tokens reserved|Reserved from default group|Reserved from native group|Local request must lock to|Local request may lock to|Local request lock items
Capacity type|Token Capacity|Pooled Capacity|Pooled capacity available|User capacity|Team criterion|Team Id|`.split(
    /[|\n]/,
  ),
);

const MARK = "|- ";

/**
 * Parses `  |- Key   : value`, or a heading without a value; null for other lines. Names may contain colons, keys do
 * not.
 */
export function parseEntry(line: string) {
  const mark = skipBlanks(line, 0);
  if (!line.startsWith(MARK, mark)) return null;
  const begin = mark + MARK.length;
  const colon = line.indexOf(":", begin);
  if (colon === -1) return { section: SECTIONS.get(trimBlanks(line.slice(begin))) ?? "other" } as const;
  const key = line.slice(begin, endOfText(line, begin, colon));
  const from = skipBlanks(line, colon + 1);
  const value = line.slice(from, endOfText(line, from, line.length));
  const section = value === "" ? SECTIONS.get(key) : undefined;
  return section === undefined ? ({ key, value } as const) : ({ section } as const);
}

/** The vendor's free text is printed for a feature but not for its licenses. */
export function isVendorInformation(key: string): boolean {
  return key.endsWith("vendor information");
}

export function isUnused(key: string): boolean {
  return UNUSED.has(key) || UNUSED.has(key.replace(/#\d{1,4}/, "##"));
}

/** Returns the text between the first and the last quote; null without quotes. */
export function unquote(value: string): string | null {
  const end = value.lastIndexOf('"');
  return value.startsWith('"') && end > 0 ? value.slice(1, end) : null;
}

const STATUS = /^(?:(?:Running|Queued) since (.*)|This license is being held\.)$/;

/** Returns the start as printed, "" for a token that is held for a disconnected client, or null for other texts. */
export function parseStatus(value: string): string | null {
  const found = STATUS.exec(value);
  return found && trimBlanks(found[1] ?? "");
}

const COUNT = /^\d{1,10}$/;

export function parseCount(value: string): number | null {
  return COUNT.test(value) ? Number(value) : null;
}

/** Numbers that mean "infinite" before and since version 9.5 (System Administrator Guide, "lsmon"). */
const INFINITE = new Set([2_097_150, 4_294_967_294]);
export const UNLIMITED = "Unlimited";

/** Parses `130`, `Unlimited`, or a number that means unlimited; null for other texts. */
export function parseLimit(value: string) {
  const count = parseCount(value);
  if (value === UNLIMITED || (count !== null && INFINITE.has(count))) return { total: null, unlimited: true };
  return count === null ? null : { total: count, unlimited: false };
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const TIME = /^([A-Z][a-z]{2}) ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})$/;

/** Parses `Tue Nov 03 11:34:40 2020` (C's ctime); null if the text is not a date, or the date has another weekday. */
function parseDate(text: string) {
  const [, weekday = "", monthName = "", ...rest] = TIME.exec(text) ?? [];
  const [day = 0, hour = 0, minute = 0, second = 0, year = 0] = rest.map(Number);
  const month = MONTHS.indexOf(monthName) + 1;
  if (!isDate(year, month, day) || hour > 23 || minute > 59 || second > 60) return null;
  return weekdayOf(year, month, day) === DAYS.indexOf(weekday)
    ? { year, month, day, hour, minute, second }
    : null;
}

/** Parses `Sat Nov 19 23:59:59 2022` or `License has no expiration.`; null for other texts. */
export function parseExpiry(value: string, zone: string): Expiry | null {
  if (/^License has no expiration\.?$/.test(value)) return PERMANENT;
  const date = parseDate(value);
  return date === null ? null : expiryOn(zone, date.year, date.month, date.day);
}

export function createTimeReader(zone: string) {
  const known = new Map<string, number | null>();

  function read(text: string): number | null {
    const date = parseDate(text);
    if (date === null) return null;
    const { year, month, day, hour, minute, second } = date;
    return localToUtc(zone, year, month, day, hour, minute, second);
  }
  return (text: string): number | null => known.getOrInsertComputed(text, read);
}

export function printTime(local: number): string {
  const date = new Date(local);
  const time = date.toISOString().slice(11, 19);
  const day = `${DAYS[date.getUTCDay()]} ${MONTHS[date.getUTCMonth()]} ${pad(date.getUTCDate())}`;
  return `${day} ${time} ${String(date.getUTCFullYear()).padStart(4, "0")}`;
}

function pad(number: number): string {
  return String(number).padStart(2, "0");
}
