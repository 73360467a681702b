import type { DaemonTotals, ToolError } from "../../domain/reading.ts";

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
  if (!line.includes("status on ")) return null;
  const found = SECTION.exec(line);
  if (found === null) return null;
  const [, server = "", what, host = "", port = ""] = found;
  if (what === undefined && server !== "rlm") return null;
  const kind = what === undefined ? "rlm" : KINDS[what as keyof typeof KINDS];
  return { kind, server, host, port: Number(port) };
}

export function isSeparator(line: string): boolean {
  return /^\s*-{8,}\s*$/.test(line);
}

export function isServerTableTitle(line: string): boolean {
  return /^\s*-{3,} ISV servers -{3,}\s*$/.test(line);
}

export function isServerTableHead(line: string): boolean {
  return /^\s*Name\s+Port\s+Running\s+Restarts\s*$/.test(line);
}

/** `csci   63133   Yes   0` */
export function parseServerRow(line: string): { name: string; running: boolean } | null {
  const found = /^\s*(\S+)\s+\d{1,9}\s+(Yes|No)\s+\d{1,9}\s*$/.exec(line);
  return found === null ? null : { name: found[1] ?? "", running: found[2] === "Yes" };
}

/** `csci software version v12.2 (build: 2)` → `v12.2`. */
export function parseSoftwareVersion(line: string): string | null {
  return /^\s*\S+ software version (v\S{1,60})(?: \(build: ?\S{1,20}\))?\s*$/.exec(line)?.[1] ?? null;
}

/** Facts of a server that licmond keeps no field for. */
export function isServerFact(line: string): boolean {
  return (
    /^\s*\S+ (?:comm version: |(?:debug|info|report) log filename:)/i.test(line) ||
    /^\s*Startup time: /.test(line) ||
    /^\s*Recent Stats\s+Todays Stats\s+Total Stats\s*$/.test(line) ||
    TIMES.test(line)
  );
}

const TIMES = new RegExp(String.raw`^\s*${UPTIME}(?:\s+${UPTIME}){0,2}\s*$`);
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

/** `rlmutil v12.2`, `rlmstat v9.1` → the version. */
export function parseToolVersion(line: string): string | null {
  return /^\s*(?:rlmutil|rlmstat) (v\S{1,60})\s*$/.exec(line)?.[1] ?? null;
}

/** Lines around the report: the path in use, the copyright, the shell's echo of the command in pasted outputs. */
export function isBanner(line: string): boolean {
  return (
    line.startsWith("Setting license file path to ") ||
    /^\s*Copyright \(C\) .*Reprise Software/.test(line) ||
    /^[$#%>] .*\brlm(?:util|stat)\b/.test(line)
  );
}

/** The tool found no one to talk to: RLM's own name for the manager itself is `rlm`, an ISV server has its own name. */
const CONNECT = /^\s*Error connecting to "([^"]*)" server\s*$/;
const ATTEMPT = /^\s*Connection attempted to host: "(.*)" on port (\d{1,9})\s*$/s;
const CODED = /^\s*\S.*\((?:-\d{1,6}|comm: -?\d{1,6}|errno: -?\d{1,6})\)\s*$/s;
const ADVICE = /^\s*This error usually means\b/;

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
  if (connect !== null) return { server: connect[1] ?? "", host: null, port: null, lines: [line.trim()] };
  if (CODED.test(line)) return { server: null, host: null, port: null, lines: [line.trim()] };
  return null;
}

/**
 * Takes a further line into the block: the address that was tried, the reasons (known by their codes), or one
 * line of words where the tool has no code (`No error`). False when the line belongs to something else.
 */
export function extendErrorBlock(block: ErrorBlock, line: string): boolean {
  if (block.server === null) {
    if (!CODED.test(line)) return false;
    block.lines.push(line.trim());
    return true;
  }
  const attempt = ATTEMPT.exec(line);
  if (attempt !== null && block.lines.length === 1) {
    block.host = attempt[1] === "" ? null : (attempt[1] ?? null);
    block.port = Number(attempt[2]);
  } else if (!CODED.test(line) && (block.lines.length !== 2 || line.length > 200)) {
    return false;
  }
  block.lines.push(line.trim());
  return true;
}

/** From here to the next section the tool gives advice: known words without facts. */
export function beginsAdvice(line: string): boolean {
  return ADVICE.test(line);
}

/** A numbered point of the advice, ` (1) The hostname …`. */
export function isAdvice(line: string): boolean {
  return /^\s*\(\d{1,2}\)\s/.test(line);
}

/**
 * The block as an error in the tool's own words, lines joined by line ends. `major` is the RLM status `(-131)`,
 * `minor` the communication status `(comm: -18)`, `system` the errno.
 */
export function toToolError(block: Pick<ErrorBlock, "server" | "lines">): ToolError {
  const message = block.lines.join("\n");
  const major = numberIn(/\((-\d{1,6})\)/, message);
  const minor = numberIn(/\(comm: (-?\d{1,6})\)/, message);
  const unreachable = block.server !== null || minor !== null || major === COMM_ERROR;
  return {
    message,
    major,
    minor,
    system: numberIn(/\(errno: (-?\d{1,6})\)/, message),
    kind: unreachable ? "unreachable" : "query",
  };
}

function numberIn(pattern: RegExp, text: string): number | null {
  const found = pattern.exec(text);
  return found === null ? null : Number(found[1]);
}
