import { type AlertRule, DAEMON_RULES, SEVERITIES, type Severity } from "../domain/alerts.ts";
import type { PollErrorCode } from "../domain/errors.ts";
import type { DenialEvent } from "../domain/events.ts";
import { featureIdKey } from "../domain/history.ts";
import type { PollOutcome } from "../domain/poll.ts";
import type { FleetStatus } from "../domain/service/status.ts";
import type { BuildInfo } from "../system/build-info.ts";
import type { ProcessMetrics } from "../system/host-metrics.ts";
import {
  counter,
  type Emit,
  emitKnown,
  type Family,
  gauge,
  histogram,
  type Labels,
  labelsOf,
  NO_LABELS,
  seconds,
} from "./family.ts";

export type Histogram = ReturnType<typeof createHistogram>;

/** Creates a histogram with cumulative buckets. `bounds` ascend; the bucket `+Inf` is added. */
export function createHistogram(bounds: readonly number[]) {
  const counts = bounds.map(() => 0);
  // Always use a decimal point: OpenMetrics 1.0 requires it, and the older format accepts it.
  const names = bounds.map((bound) => (Number.isInteger(bound) ? bound.toFixed(1) : String(bound)));
  let count = 0;
  let sum = 0;
  return {
    observe(value: number): void {
      count++;
      sum += value;
      const index = bounds.findIndex((bound) => value <= bound);
      if (index >= 0) counts[index] = (counts[index] ?? 0) + 1;
    },
    emit(emit: Emit, family: Family, labels: Labels): void {
      let below = 0;
      for (const [index, name] of names.entries()) {
        below += counts[index] ?? 0;
        emit(family, [...labels, ["le", name]], below, "_bucket");
      }
      emit(family, [...labels, ["le", "+Inf"]], count, "_bucket");
      emit(family, labels, sum, "_sum");
      emit(family, labels, count, "_count");
    },
  };
}

export const DENIALS = {
  denials: counter(
    "license_denials_total",
    "Denied requests since licmond started; repeated attempts of a user within minutes count once.",
  ),
} as const;

type DenialFields = Pick<
  DenialEvent,
  "server" | "daemon" | "feature" | "user" | "host" | "attempts" | "outcome"
>;

/** Maximum number of series, because logs may name any features. Further ones are counted without their feature. */
const MAX_SERIES = 10_000;

/** Counts published denials. Granted and queued requests are ignored. */
export function createDenialMeter(maxSeries: number = MAX_SERIES) {
  const counts = new Map<string, { readonly labels: Labels; count: number }>();
  return {
    add({ server, daemon, feature, user, host, attempts, outcome }: DenialFields): void {
      if (outcome !== "denied") return;
      const known = featureIdKey({ server, daemon, feature });
      const isCounted = counts.has(known) || counts.size < maxSeries;
      const entry = counts.getOrInsertComputed(isCounted ? known : featureIdKey({ server, daemon }), () => ({
        labels: labelsOf({ server, daemon, feature: isCounted ? (feature ?? "") : "" }),
        count: 0,
      }));
      // If the manager only counts, one event represents several denials.
      entry.count += user === null && host === null ? attempts : 1;
    },
    emit(emit: Emit): void {
      for (const { labels, count } of counts.values()) emit(DENIALS.denials, labels, count);
    },
  };
}

export const POLLS = {
  polls: counter("licmond_polls_total", "Polls by server and outcome."),
  durations: histogram("licmond_poll_duration_seconds", "Duration of polls of any outcome."),
  unparsed: counter("licmond_unparsed_lines_total", "Unrecognized lines in the output of tools."),
} as const;

const OUTCOME_OF = {
  LICENSE_SERVER_UNREACHABLE: "unreachable",
  LICENSE_QUERY_FAILED: "query_failed",
  LICENSE_PARSE_ERROR: "parse_error",
  TIMEOUT: "timeout",
} as const satisfies Record<PollErrorCode, string>;

/** Bounds of the buckets in seconds. Tools usually answer in 0.1 s, but may take ten minutes. */
const BOUNDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export function createPollMeter() {
  const entries = new Map<string, ReturnType<typeof newEntry>>();
  return {
    add({ serverId, error, reading, durationMs }: PollOutcome): void {
      const entry = entries.getOrInsertComputed(serverId, newEntry);
      entry.outcomes[error === null ? (reading?.cut ? "partial" : "ok") : OUTCOME_OF[error.code]]++;
      entry.durations.observe(durationMs / 1000);
      entry.unparsed += reading?.unparsedLines ?? 0;
    },
    /** Emits the configured servers, even without polls; removed ones are left out. */
    emit(emit: Emit, servers: readonly string[]): void {
      for (const server of new Set(entries.keys()).difference(new Set(servers))) entries.delete(server);
      for (const server of servers) {
        const { outcomes, durations, unparsed } = entries.getOrInsertComputed(server, newEntry);
        for (const [outcome, count] of Object.entries(outcomes))
          emit(POLLS.polls, labelsOf({ server, outcome }), count);
        durations.emit(emit, POLLS.durations, [["server", server]]);
        emit(POLLS.unparsed, [["server", server]], unparsed);
      }
    },
  };
}

function newEntry() {
  const outcomes = { ok: 0, partial: 0, unreachable: 0, query_failed: 0, parse_error: 0, timeout: 0 };
  return { outcomes, durations: createHistogram(BOUNDS), unparsed: 0 };
}

export const SERVICE = {
  build: gauge("licmond_build_info", "Always 1; version, commit and Bun of the running binary."),
  alerts: gauge("licmond_alerts_firing", "Firing alerts by rule and severity."),
  polling: gauge("licmond_polls_running", "Running polls."),
  streams: gauge("licmond_stream_clients", "Open streams by kind."),
  lag: gauge("licmond_event_loop_lag_seconds", "Longest delay of the event loop in the last ten seconds."),
  database: gauge("licmond_database_size_bytes", "Size of the database including its write-ahead log."),
  disk: gauge("licmond_storage_used_ratio", "Used share of the storage file system, 1 = full."),
  reloaded: gauge(
    "licmond_config_last_reload_successful",
    "1 if the last reload was applied, 0 if it was rejected; absent before the first.",
  ),
  reloadedAt: gauge("licmond_config_last_reload_timestamp_seconds", "Time of the last reload."),
} as const;

/** Names of the process metrics, as in other Prometheus clients. */
export const PROCESS = {
  cpu: counter("process_cpu_seconds_total", "User and system CPU time of the daemon."),
  memory: gauge("process_resident_memory_bytes", "Resident memory of the daemon."),
  virtual: gauge("process_virtual_memory_bytes", "Virtual memory of the daemon."),
  fds: gauge("process_open_fds", "Open file descriptors."),
  maxFds: gauge("process_max_fds", "Maximum number of open file descriptors."),
  started: gauge("process_start_time_seconds", "Start time of the daemon."),
} as const;

/** State of the daemon for its metrics. Null values are unknown. */
export interface ServiceView {
  readonly build: BuildInfo;
  readonly firing: readonly { readonly rule: AlertRule; readonly severity: Severity }[];
  readonly runningPolls: number;
  readonly streams: { readonly sse: number; readonly websocket: number };
  readonly eventLoopLagMs: number | null;
  readonly databaseBytes: number | null;
  /** Used share of the disk, 0–100. */
  readonly disk: number | null;
  readonly lastReload: { readonly at: number; readonly outcome: "applied" | "refused" } | null;
  /** Start of the daemon, epoch ms. */
  readonly startedAt: number;
  readonly process: ProcessMetrics;
}

export function emitService(view: ServiceView, emit: Emit): void {
  const { build, streams, lastReload, process } = view;
  const { version, commit, bun } = build;
  const known = (family: Family, value: number | null) => emitKnown(emit, family, NO_LABELS, value);
  emit(SERVICE.build, labelsOf({ version, commit: commit ?? "", bun }), 1);
  const firing = Object.groupBy(view.firing, ({ rule, severity }) => `${rule} ${severity}` as const);
  for (const rule of DAEMON_RULES)
    for (const severity of SEVERITIES)
      emit(SERVICE.alerts, labelsOf({ rule, severity }), firing[`${rule} ${severity}`]?.length ?? 0);
  known(SERVICE.polling, view.runningPolls);
  emit(SERVICE.streams, [["kind", "sse"]], streams.sse);
  emit(SERVICE.streams, [["kind", "websocket"]], streams.websocket);
  known(SERVICE.lag, seconds(view.eventLoopLagMs));
  known(SERVICE.database, view.databaseBytes);
  known(SERVICE.disk, view.disk === null ? null : view.disk / 100);
  known(SERVICE.reloaded, lastReload && Number(lastReload.outcome === "applied"));
  known(SERVICE.reloadedAt, lastReload && seconds(lastReload.at));
  known(PROCESS.cpu, process.cpuSeconds);
  known(PROCESS.memory, process.memoryBytes);
  known(PROCESS.virtual, process.virtualBytes);
  known(PROCESS.fds, process.openFds);
  known(PROCESS.maxFds, process.maxFds);
  known(PROCESS.started, seconds(view.startedAt));
}

export const FLEET = {
  connected: gauge("licmond_fleet_connected", "1 while the hub accepts pushes, otherwise 0."),
  contact: gauge(
    "licmond_fleet_last_contact_timestamp_seconds",
    "Time of the last accepted push; absent before the first.",
  ),
  waitingFacts: gauge("licmond_fleet_waiting_facts", "Facts that are waiting for the hub."),
  waitingBytes: gauge(
    "licmond_fleet_waiting_bytes",
    "Approximate disk space of the facts that are waiting for the hub.",
  ),
  daysLeft: gauge("licmond_fleet_history_pending", "Days of history that are waiting for the hub."),
  sentFacts: counter("licmond_fleet_sent_facts_total", "Facts accepted by the hub."),
  sentBytes: counter("licmond_fleet_sent_bytes_total", "Compressed bytes accepted by the hub."),
  failures: counter("licmond_fleet_failures_total", "Failed pushes, which are retried."),
} as const;

export function emitFleet(status: FleetStatus | null, emit: Emit): void {
  if (status === null) return;
  const { lastContactAt } = status;
  emit(FLEET.connected, [], status.state === "connected" ? 1 : 0);
  emitKnown(emit, FLEET.contact, [], seconds(lastContactAt === null ? null : Date.parse(lastContactAt)));
  for (const name of [
    "waitingFacts",
    "waitingBytes",
    "daysLeft",
    "sentFacts",
    "sentBytes",
    "failures",
  ] as const)
    emit(FLEET[name], [], status[name]);
}
