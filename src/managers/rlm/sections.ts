import type { DaemonTotals, ToolError } from "../../domain/reading.ts";
import { isDate, localToUtc } from "../../domain/time/zone.ts";
import type { YearlessBounds } from "../yearless.ts";

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const STATISTICS =
  /^\s*(?:Todays|Recent) Statistics \((?:(\d{1,6})d )?(\d{1,4}):(\d\d):(\d\d)\), init time: [A-Za-z]{3} ([A-Za-z]{3})\s+(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})\s*$/;

/**
 * Usage lines print `MM/DD HH:MM`: a checkout of last December is not one of next December. Nine years, because a 29th
 * of February may be eight years old.
 */
export const USAGE_TIMES: YearlessBounds = { aheadMs: 86_400_000, yearsBack: 8 };

/**
 * The clock of the license server. rlmstat prints no report time as such, but each statistics line says since when
 * it counts and for how long, to the second: `Recent Statistics (00:16:08), init time: Wed Nov  3 12:32:30 2021`
 * was printed at 12:48:38. Undefined when the line is no such line, null when it is one with an impossible date.
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

/** A line that opens a part of the output. */
export interface SectionHeader {
  readonly kind: "rlm" | "isv" | "pools" | "usage";
  /** Name of the ISV server; `rlm` for the manager itself. */
  readonly server: string;
  readonly host: string;
  readonly port: number;
}

const KINDS = { "ISV server": "isv", "license pool": "pools", "license usage": "usage" } as const;

/** `rlm status on H (port P), up 1d 02:03:04`, `csci license pool status on H (port P)`, … */
export function parseSectionHeader(line: string): SectionHeader | null {
  const found = line.includes("status on ") ? SECTION.exec(line) : null;
  if (found === null) return null;
  const [, server = "", what, host = "", port = ""] = found;
  if (what === undefined && server !== "rlm") return null;
  const kind = what === undefined ? "rlm" : KINDS[what as keyof typeof KINDS];
  return { kind, server, host, port: Number(port) };
}

export const SEPARATOR = /^\s*-{8,}\s*$/;
export const SERVER_TABLE_TITLE = /^\s*-{3,} ISV servers -{3,}\s*$/;
export const SERVER_TABLE_HEAD = /^\s*Name\s+Port\s+Running\s+Restarts\s*$/;
/** `csci   63133   Yes   0`: name and whether it runs. */
export const SERVER_ROW = /^\s*(\S+)\s+\d{1,9}\s+(Yes|No)\s+\d{1,9}\s*$/;
/** `csci software version v12.2 (build: 2)`. */
export const SOFTWARE_VERSION = /^\s*\S+ software version (v\S{1,60})(?: \(build: ?\S{1,20}\))?\s*$/;
/** `rlmutil v12.2`, `rlmstat v9.1`. */
export const TOOL_VERSION = /^\s*(?:rlmutil|rlmstat) (v\S{1,60})\s*$/;
/** Lines around the report: the path in use, the copyright, the shell's echo of the command in pasted outputs. */
export const BANNER =
  /^(?:Setting license file path to |\s*Copyright \(C\) .*Reprise Software|[$#%>] .*\brlm(?:util|stat)\b)/;
/** From here to the next section the tool gives advice: known words without facts. */
export const ADVICE = /^\s*This error usually means\b/;
/** A numbered point of the advice, ` (1) The hostname …`. */
export const ADVICE_POINT = /^\s*\(\d{1,2}\)\s/;

const FACTS = [
  /^\s*\S+ (?:comm version: |(?:debug|info|report) log filename:)/i,
  /^\s*Startup time: /,
  /^\s*Recent Stats\s+Todays Stats\s+Total Stats\s*$/,
  new RegExp(String.raw`^\s*${UPTIME}(?:\s+${UPTIME}){0,2}\s*$`),
];

/** Facts of a server that licmond keeps no field for. */
export function isServerFact(line: string): boolean {
  return FACTS.some((fact) => fact.test(line));
}

const COUNTER =
  /^\s*(Messages|Connections|Checkouts|Denials|Removals):\s+(\d{1,15}) \([^)\s]*\)(?:\s+(\d{1,15}) \([^)\s]*\))?(?:\s+(\d{1,15}) \([^)\s]*\))?\s*$/;

const TOTALS: Readonly<Record<string, keyof DaemonTotals>> = {
  Checkouts: "checkouts",
  Denials: "denials",
  Removals: "removals",
};

/**
 * A line of the statistics, `Denials: 0 (0/sec)  3 (0/sec)  907 (0/sec)`: the third column counts since the start.
 * `name` is null for counters that licmond does not keep. Null for other lines.
 */
export function parseCounter(line: string): { name: keyof DaemonTotals | null; total: number | null } | null {
  const found = COUNTER.exec(line);
  if (found === null) return null;
  return { name: TOTALS[found[1] ?? ""] ?? null, total: found[4] === undefined ? null : Number(found[4]) };
}

/** The tool reached nothing: RLM's own name for the manager itself is `rlm`, an ISV server has its own name. */
const CONNECT = /^\s*Error connecting to "([^"]*)" server\s*$/;
const ATTEMPT = /^\s*Connection attempted to host: "(.*)" on port (\d{1,9})\s*$/s;
const CODED = /^\s*\S.*\((?:-\d{1,6}|comm: -?\d{1,6}|errno: -?\d{1,6})\)\s*$/s;

/** RLM status -17: communications error with the license server. */
const COMM_ERROR = -17;

/** Lines of one error, gathered until something else begins. */
export interface ErrorBlock {
  /** `rlm`, or the name of the ISV server that did not answer; null when the tool names none. */
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

/**
 * Takes a further line into the block: the address that was tried, the reasons (known by their codes), or one
 * line of words where the tool has no code (`No error`). False when the line belongs to something else.
 */
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

/**
 * The block as an error in the tool's own words, lines joined by line ends. `major` is the RLM status `(-131)`,
 * `minor` the communication status `(comm: -18)`, `system` the errno.
 */
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
