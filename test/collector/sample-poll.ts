import type { ServerPicture } from "../../src/domain/picture.ts";
import type { PollError, PollOutcome } from "../../src/domain/poll.ts";
import type { Reading } from "../../src/domain/reading.ts";
import type { MonitoredServer } from "../../src/domain/server.ts";
import type { DataState } from "../../src/domain/words.ts";

export function server(id: string, more: Partial<MonitoredServer> = {}): MonitoredServer {
  return {
    id,
    name: id,
    manager: "flexnet",
    address: "27000@lic1",
    tool: null,
    timezone: "UTC",
    intervalMs: 60_000,
    timeoutMs: 30_000,
    enabled: true,
    labels: {},
    logFile: null,
    ...more,
  };
}

export function reading(more: Partial<Reading> = {}): Reading {
  return {
    manager: "flexnet",
    reportTime: null,
    toolVersion: null,
    members: [],
    daemons: [],
    features: [],
    errors: [],
    unparsedLines: 0,
    unparsed: [],
    cut: false,
    recognised: true,
    ...more,
  };
}

export const member = (
  status: "up" | "down",
  more: Partial<Reading["members"][number]> = {},
): Reading["members"][number] => ({
  host: "lic1",
  port: 27000,
  status,
  master: false,
  version: null,
  error: null,
  ...more,
});

export const toolError = (
  kind: "unreachable" | "query",
  message: string,
  major: number | null = null,
  minor: number | null = null,
) => ({ message, major, minor, system: null, kind });

export const UNREACHABLE: PollError = {
  code: "LICENSE_SERVER_UNREACHABLE",
  message: "No license server answers.",
  details: "Cannot connect (-15,570)",
};

export function outcome(serverId: string, more: Partial<PollOutcome> = {}): PollOutcome {
  return {
    serverId,
    startedAt: 0,
    finishedAt: 0,
    durationMs: 0,
    reading: more.error ? null : reading(),
    error: null,
    raw: {
      argv: ["lmstat"],
      exitCode: 0,
      signal: null,
      stdout: new TextEncoder().encode("words\n"),
      stderr: new Uint8Array(0),
      truncated: false,
    },
    reachability: [],
    ...more,
  };
}

export function picture(of: MonitoredServer, last: PollOutcome, state: DataState = "ok"): ServerPicture {
  return {
    server: of,
    status: last.error === null ? "up" : "down",
    state: last.error === null ? state : "stale",
    members: [],
    daemons: [],
    error: last.error,
    collectedAt: last.finishedAt,
    lastPollAt: last.finishedAt,
    nextPollAt: null,
    pollDurationMs: last.durationMs,
    toolVersion: null,
    clockOffsetMs: null,
    unparsedLines: 0,
    unparsed: [],
    cut: false,
    reachability: [],
    features: [],
  };
}
