import { MONTHS } from "../../domain/expiry.ts";
import type { DaemonTotals, ToolError } from "../../domain/reading.ts";
import { isDate, localToUtc } from "../../domain/time/zone.ts";

const STATISTICS =
  /^\s*(?:Todays|Recent) Statistics \((?:(\d{1,6})d )?(\d{1,4}):(\d\d):(\d\d)\), init time: [A-Za-z]{3} ([A-Za-z]{3})\s+(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})\s*$/;

/**
 * Returns the license server's time. rlmstat prints no report time, but each statistics line has a start and a
 * duration in seconds: `Recent Statistics (00:16:08), init time: Wed Nov  3 12:32:30 2021` was printed at 12:48:38.
 * Returns undefined for other lines, null for an impossible date.
 */
export function parseStatistics(line: string, zone: string): number | null | undefined {
  const found = STATISTICS.exec(line);
  if (found === null) return undefined;
  const month = MONTHS.indexOf((found[5] ?? "").toLowerCase()) + 1;
  const [day = 0, hour = 0, minute = 0, second = 0, year = 0] = found.slice(6).map(Number);
  if (!isDate(year, month, day) || hour > 23 || minute > 59 || second > 60) return null;
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = found.slice(1, 5).map((text) => Number(text ?? 0));
  const elapsed = days * 86_400 + hours * 3600 + minutes * 60 + seconds;
  return localToUtc(zone, year, month, day, hour, minute, second) + elapsed * 1000;
}

const UPTIME = String.raw`(?:\d{1,6}d )?\d{1,6}:\d\d:\d\d`;
const SECTION = new RegExp(
  String.raw`^\s*(\S+) (?:(ISV server|license pool|license usage) )?status on (\S+) \(port (\d{1,9})\)(?:, up ${UPTIME})?\s*$`,
);

const KINDS = { "ISV server": "isv", "license pool": "pools", "license usage": "usage", "": "rlm" } as const;

export type SectionHeader = NonNullable<ReturnType<typeof parseSectionHeader>>;

/** Parses `rlm status on H (port P), up 1d 02:03:04`, `csci license pool status on H (port P)`, …. */
export function parseSectionHeader(line: string) {
  const found = line.includes("status on ") ? SECTION.exec(line) : null;
  const [, server = "", what = "", host = "", port = ""] = found ?? [];
  if (found === null || (what === "" && server !== "rlm")) return null;
  return { kind: KINDS[what as keyof typeof KINDS], server, host, port: Number(port) };
}

export const SEPARATOR = /^\s*-{8,}\s*$/;
export const SERVER_TABLE_TITLE = /^\s*-{3,} ISV servers -{3,}\s*$/;
export const SERVER_TABLE_HEAD = /^\s*Name\s+Port\s+Running\s+Restarts\s*$/;
/** Matches `csci   63133   Yes   0`: name and whether it is running. */
export const SERVER_ROW = /^\s*(\S+)\s+\d{1,9}\s+(Yes|No)\s+\d{1,9}\s*$/;
/** Matches `csci software version v12.2 (build: 2)`. */
export const SOFTWARE_VERSION = /^\s*\S+ software version (v\S{1,60})(?: \(build: ?\S{1,20}\))?\s*$/;
/** Matches `rlmutil v12.2`, `rlmstat v9.1`. */
export const TOOL_VERSION = /^\s*(?:rlmutil|rlmstat) (v\S{1,60})\s*$/;
/** Matches the path in use, the copyright, and the shell's echo of the command in pasted outputs. */
export const BANNER =
  /^(?:Setting license file path to |\s*Copyright \(C\) .*Reprise Software|[$#%>] .*\brlm(?:util|stat)\b)/;
/** Matches the start of the tool's advice, which extends to the next section and contains no facts. */
export const ADVICE = /^\s*This error usually means\b/;
/** Matches a numbered point of the advice, ` (1) The hostname …`. */
export const ADVICE_POINT = /^\s*\(\d{1,2}\)\s/;

const FACTS = [
  /^\s*\S+ (?:comm version: |(?:debug|info|report) log filename:)/i,
  /^\s*Startup time: /,
  /^\s*Recent Stats\s+Todays Stats\s+Total Stats\s*$/,
  new RegExp(String.raw`^\s*${UPTIME}(?:\s+${UPTIME}){0,2}\s*$`),
];

export function isServerFact(line: string): boolean {
  return FACTS.some((fact) => fact.test(line));
}

const COUNTER =
  /^\s*(Messages|Connections|Checkouts|Denials|Removals):\s+(\d{1,15}) \([^)\s]*\)(?:\s+(\d{1,15}) \([^)\s]*\))?(?:\s+(\d{1,15}) \([^)\s]*\))?\s*$/;

const TOTALS = new Map<string, keyof DaemonTotals>([
  ["Checkouts", "checkouts"],
  ["Denials", "denials"],
  ["Removals", "removals"],
]);

/** Parses `Denials: 0 (0/sec)  3 (0/sec)  907 (0/sec)`, whose third column counts since the start. */
export function parseCounter(line: string) {
  const found = COUNTER.exec(line);
  if (found === null) return null;
  return { name: TOTALS.get(found[1] ?? ""), total: found[4] === undefined ? null : Number(found[4]) };
}

/** Matches a failed connection. `rlm` is the license manager itself; an ISV server has its own name. */
const CONNECT = /^\s*Error connecting to "([^"]*)" server\s*$/;
const ATTEMPT = /^\s*Connection attempted to host: "(.*)" on port (\d{1,9})\s*$/s;
const CODED = /^\s*\S.*\((?:-\d{1,6}|comm: -?\d{1,6}|errno: -?\d{1,6})\)\s*$/s;

const COMM_ERROR = -17;

export interface ErrorBlock {
  /** `rlm`, or the name of the ISV server that did not answer; null if no name was printed. */
  readonly server: string | null;
  host: string | null;
  port: number | null;
  readonly lines: string[];
}

export function beginErrorBlock(line: string): ErrorBlock | null {
  if (!line.includes("Error connecting") && !line.trimEnd().endsWith(")")) return null;
  const connect = CONNECT.exec(line);
  if (connect === null && !CODED.test(line)) return null;
  return { server: connect?.[1] ?? null, host: null, port: null, lines: [line.trim()] };
}

/** Adds the address that was tried, a reason with a code, or one line of text without a code (`No error`). */
export function extendErrorBlock(block: ErrorBlock, line: string): boolean {
  const { server, lines } = block;
  const attempt = server !== null && lines.length === 1 ? ATTEMPT.exec(line) : null;
  if (attempt !== null) {
    block.host = attempt[1] || null;
    block.port = Number(attempt[2]);
  } else if (!CODED.test(line) && (server === null || lines.length !== 2 || line.length > 200)) {
    return false;
  }
  lines.push(line.trim());
  return true;
}

/** Reads the RLM status `(-131)`, the communication status `(comm: -18)` and the errno. */
export function toToolError({ server, lines }: ErrorBlock): ToolError {
  const message = lines.join("\n");
  const numberIn = (pattern: RegExp) => {
    const found = pattern.exec(message);
    return found === null ? null : Number(found[1]);
  };
  const major = numberIn(/\((-\d{1,6})\)/);
  const minor = numberIn(/\(comm: (-?\d{1,6})\)/);
  const unreachable = server !== null || minor !== null || major === COMM_ERROR;
  const system = numberIn(/\(errno: (-?\d{1,6})\)/);
  return { message, major, minor, system, kind: unreachable ? "unreachable" : "query" };
}
