import type { ManagerName } from "./words.ts";

export type Labels = Readonly<Record<string, string>>;

/** One configured license server, defaults filled in. A FlexNet triad is one server with three members. */
export interface MonitoredServer {
  /** `^[a-z0-9][a-z0-9._-]{0,63}$` */
  readonly id: string;
  /** The site of a fleet that it stands at; absent without a fleet. */
  readonly site?: string;
  readonly name: string;
  readonly manager: ManagerName;
  /** `27000@lic1,27000@lic2,27000@lic3` or the path of a license file. */
  readonly address: string;
  /** argv prefix of the tool; null = the manager's tool from $PATH. */
  readonly tool: readonly string[] | null;
  /** IANA zone in which the server prints its times. */
  readonly timezone: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly enabled: boolean;
  readonly labels: Labels;
  /** File of what `{secret}` stands for in the manager's steps; null when not configured. */
  readonly secretFile: string | null;
  /** PEM file of the authorities that are trusted over HTTPS instead of the public ones; null = those. */
  readonly caFile: string | null;
  /** Encoding of what the tool prints, as TextDecoder names it; null = detected. */
  readonly encoding: string | null;
  /** The vendor's debug log, for denials; null when not configured. */
  readonly logFile: string | null;
  /** argv of a process that follows that log where it is no file of this host; null when not configured. */
  readonly logCommand: readonly string[] | null;
}

/** Whether labels hold all that are wanted. */
export function hasLabels(labels: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([name, value]) => labels[name] === value);
}

/** The site of a server by its id at a hub: no name of a site, and no id at a site, has a colon. */
export const siteOf = (server: string): string => server.slice(0, server.indexOf(":"));
