import type { PollOutcome } from "../../src/domain/poll.ts";
import {
  type CheckoutReading,
  type DaemonReading,
  type FeatureReading,
  type MemberReading,
  type PoolReading,
  type Reading,
  type ToolError,
  UNKNOWN_EXPIRY,
} from "../../src/domain/reading.ts";
import type { MonitoredServer } from "../../src/domain/server.ts";

export const NOON = Date.parse("2026-03-02T12:00:00.000Z");

export const server = (change: Partial<MonitoredServer> = {}): MonitoredServer => ({
  id: "eda",
  name: "EDA tools",
  manager: "flexnet",
  address: "27000@lic1",
  tool: null,
  timezone: "UTC",
  intervalMs: 60_000,
  timeoutMs: 30_000,
  enabled: true,
  labels: {},
  secretFile: null,
  caFile: null,
  encoding: null,
  logFile: null,
  logCommand: null,
  ...change,
});

export const toolError = (change: Partial<ToolError> = {}): ToolError => ({
  message: "No such feature exists. (-5,222)",
  major: -5,
  minor: 222,
  system: null,
  kind: "query",
  ...change,
});

export const member = (change: Partial<MemberReading> = {}): MemberReading => ({
  host: "lic1",
  port: 27000,
  status: "up",
  master: false,
  version: "v11.19.0",
  error: null,
  ...change,
});

export const daemon = (change: Partial<DaemonReading> = {}): DaemonReading => ({
  name: "snpslmd",
  status: "up",
  version: "v11.19.0",
  error: null,
  totals: null,
  ...change,
});

export const checkout = (change: Partial<CheckoutReading> = {}): CheckoutReading => ({
  user: "ann",
  host: "ws1",
  display: ":0",
  qualifier: null,
  version: "v1.0",
  count: 1,
  handle: "101",
  pid: null,
  startedAt: NOON - 3_600_000,
  lingerSeconds: null,
  borrowed: false,
  pool: null,
  ...change,
});

export const pool = (change: Partial<PoolReading> = {}): PoolReading => ({
  number: null,
  version: "v1.0",
  vendorString: null,
  kind: "floating",
  total: null,
  used: null,
  unlimited: false,
  expiry: UNKNOWN_EXPIRY,
  ...change,
});

export const feature = (change: Partial<FeatureReading> = {}): FeatureReading => ({
  daemon: "snpslmd",
  name: "compiler",
  total: 10,
  used: 1,
  unlimited: false,
  error: null,
  pools: [],
  checkouts: [checkout()],
  reservations: [],
  queue: [],
  consistency: "ok",
  cut: false,
  ...change,
});

export const reading = (change: Partial<Reading> = {}): Reading => ({
  manager: "flexnet",
  reportTime: NOON,
  toolVersion: null,
  members: [member()],
  daemons: [daemon()],
  features: [feature()],
  errors: [],
  unparsedLines: 0,
  unparsed: [],
  cut: false,
  recognised: true,
  ...change,
});

const NONE = new Uint8Array();

export const outcome = (change: Partial<PollOutcome> = {}): PollOutcome => ({
  serverId: "eda",
  startedAt: NOON - 200,
  finishedAt: NOON,
  durationMs: 200,
  reading: reading(),
  error: null,
  raw: { argv: ["lmutil"], exitCode: 0, signal: null, stdout: NONE, stderr: NONE, truncated: false },
  reachability: [],
  quorum: 1,
  ...change,
});

export const failedPoll = (change: Partial<PollOutcome> = {}): PollOutcome => {
  const details = 'Cannot connect to license server system. (-15,570:111 "Connection refused")';
  const message = "Nobody answers at 27000@lic1";
  const error = { code: "LICENSE_SERVER_UNREACHABLE", message, details } as const;
  return outcome({ reading: null, error, finishedAt: NOON + 60_000, ...change });
};
