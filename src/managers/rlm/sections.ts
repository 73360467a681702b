import type { DaemonTotals } from "../../domain/reading.ts";

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
