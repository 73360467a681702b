import { type AlertRule, DAEMON_RULES, SEVERITIES, type Severity } from "../domain/alerts.ts";
import type { PollErrorCode } from "../domain/errors.ts";
import type { DenialEvent } from "../domain/events.ts";
import type { PollOutcome } from "../domain/poll.ts";
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

/**
 * Counts observations by upper bound. `bounds` ascend and are finite; the bucket `+Inf` comes by itself. Buckets are
 * cumulative, as Prometheus wants.
 */
export function createHistogram(bounds: readonly number[]) {
  const counts = bounds.map(() => 0);
  // OpenMetrics 1.0 wants a point in every bound; the older text takes any spelling. One for both is one series.
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
    "Denied requests since the start of licmond; a user who tries again within minutes counts once.",
  ),
} as const;

type DenialFields = Pick<
  DenialEvent,
  "server" | "daemon" | "feature" | "user" | "host" | "attempts" | "outcome"
>;

/** A log may name features without end; what does not fit is counted without its feature. */
const MAX_SERIES = 10_000;

/** Counts denials as they are published. Granted and queued requests are none. */
export function createDenialMeter(maxSeries: number = MAX_SERIES) {
  const counts = new Map<string, { readonly labels: Labels; count: number }>();
  return {
    add({ server, daemon, feature, user, host, attempts, outcome }: DenialFields): void {
      if (outcome !== "denied") return;
      const known = `${server}\0${daemon}\0${feature ?? ""}`;
      const isCounted = counts.has(known) || counts.size < maxSeries;
      const entry = counts.getOrInsertComputed(isCounted ? known : `${server}\0${daemon}\0`, () => ({
        labels: labelsOf({ server, daemon, feature: isCounted ? (feature ?? "") : "" }),
        count: 0,
      }));
      // Where the manager only counts, one event stands for many.
      entry.count += user === null && host === null ? attempts : 1;
    },
    emit(emit: Emit): void {
      for (const { labels, count } of counts.values()) emit(DENIALS.denials, labels, count);
    },
  };
}

export const POLLS = {
  polls: counter("licmond_polls_total", "Polls by server and by what came of them."),
  durations: histogram("licmond_poll_duration_seconds", "How long polls took, whatever came of them."),
  unparsed: counter("licmond_unparsed_lines_total", "Lines of the tools that no rule knew."),
} as const;

const OUTCOME_OF = {
  LICENSE_SERVER_UNREACHABLE: "unreachable",
  LICENSE_QUERY_FAILED: "query_failed",
  LICENSE_PARSE_ERROR: "parse_error",
  TIMEOUT: "timeout",
} as const satisfies Record<PollErrorCode, string>;

/** Seconds: tools answer in a tenth, and may be given ten minutes. */
const BOUNDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Counts polls since the start. */
export function createPollMeter() {
  const entries = new Map<string, ReturnType<typeof newEntry>>();
  return {
    add({ serverId, error, reading, durationMs }: PollOutcome): void {
      const entry = entries.getOrInsertComputed(serverId, newEntry);
      entry.outcomes[error === null ? (reading?.cut ? "partial" : "ok") : OUTCOME_OF[error.code]]++;
      entry.durations.observe(durationMs / 1000);
      entry.unparsed += reading?.unparsedLines ?? 0;
    },
    /** Servers of the config: each is there from its start on, those that are gone no more. */
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

/** Families about licmond itself. */
export const SERVICE = {
  build: gauge("licmond_build_info", "Always 1; version, commit and Bun of the binary that runs."),
  alerts: gauge("licmond_alerts_firing", "Alerts that fire now, by rule and severity."),
  polling: gauge("licmond_polls_running", "Polls under way."),
  streams: gauge("licmond_stream_clients", "Open streams by kind."),
  lag: gauge("licmond_event_loop_lag_seconds", "Longest delay of the event loop in the last ten seconds."),
  database: gauge("licmond_database_size_bytes", "Size of the database with its log."),
  disk: gauge("licmond_storage_used_ratio", "Share of the file system of the storage that is used, 1 = all."),
  reloaded: gauge(
    "licmond_config_last_reload_successful",
    "1 when the last reload was applied, 0 when it was refused; absent before the first.",
  ),
  reloadedAt: gauge("licmond_config_last_reload_timestamp_seconds", "Time of the last reload."),
} as const;

/** Families of every process that is watched by Prometheus, under the names that its clients give them. */
export const PROCESS = {
  cpu: counter("process_cpu_seconds_total", "User and system CPU time of the daemon."),
  memory: gauge("process_resident_memory_bytes", "Resident memory of the daemon."),
  virtual: gauge("process_virtual_memory_bytes", "Virtual memory of the daemon."),
  fds: gauge("process_open_fds", "Open file descriptors."),
  maxFds: gauge("process_max_fds", "File descriptors that may be open."),
  started: gauge("process_start_time_seconds", "Start of the daemon."),
} as const;

/** What is known of the daemon at one moment; null where the host does not say. */
export interface ServiceView {
  readonly build: BuildInfo;
  readonly firing: readonly { readonly rule: AlertRule; readonly severity: Severity }[];
  readonly runningPolls: number;
  readonly streams: { readonly sse: number; readonly websocket: number };
  readonly eventLoopLagMs: number | null;
  readonly databaseBytes: number | null;
  /** 0–100. */
  readonly disk: number | null;
  readonly lastReload: { readonly at: number; readonly outcome: "applied" | "refused" } | null;
  /** Epoch ms. */
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
