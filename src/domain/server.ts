import type { ManagerName } from "./words.ts";

export type Labels = Readonly<Record<string, string>>;

/** A configured license server, with defaults applied. A FlexNet triad is one server with three members. */
export interface MonitoredServer {
  /** Id of the server, matching `^[a-z0-9][a-z0-9._-]{0,63}$`. */
  readonly id: string;
  /** Site of the fleet; absent without a fleet. */
  readonly site?: string;
  readonly name: string;
  readonly manager: ManagerName;
  /** `27000@lic1,27000@lic2,27000@lic3`, or the path of a license file. */
  readonly address: string;
  /** Command of the tool, with its first arguments; null means the manager's tool from $PATH. */
  readonly tool: readonly string[] | null;
  /** IANA zone of the times that the server prints. */
  readonly timezone: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly enabled: boolean;
  readonly labels: Labels;
  /** File whose content replaces `{secret}` in the manager's steps. */
  readonly secretFile: string | null;
  /** PEM file of the CAs to trust for HTTPS; null means the public CAs. */
  readonly caFile: string | null;
  /** Encoding of the tool's output, as TextDecoder names it; null means that it is detected. */
  readonly encoding: string | null;
  /** Debug log of the vendor, which is read for denials. */
  readonly logFile: string | null;
  /** Command and arguments of a process that prints the log as it grows. */
  readonly logCommand: readonly string[] | null;
}

/** Reports whether `labels` contains all `wanted` ones. */
export function hasLabels(labels: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([name, value]) => labels[name] === value);
}

/** Returns how long readings may be missing before the numbers become stale. */
export function longestSilence(of: Pick<MonitoredServer, "intervalMs" | "timeoutMs">): number {
  return 2 * of.intervalMs + of.timeoutMs;
}

/** Returns a hub's id of a site's server. Names of sites, and ids at a site, contain no colon. */
export const serverAt = (site: string, server: string): string => `${site}:${server}`;

/** Returns the site in a hub's id of a server; empty for other ids. */
export const siteOf = (server: string): string => server.slice(0, Math.max(0, server.indexOf(":")));
