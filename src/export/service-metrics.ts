import { ALERT_RULES, type AlertRule, SEVERITIES, type Severity } from "../domain/alerts.ts";
import type { BuildInfo } from "../system/build-info.ts";
import type { ProcessMetrics } from "../system/host-metrics.ts";
import { counter, type Emit, emitKnown, type Family, gauge, labelsOf, NO_LABELS, seconds } from "./family.ts";

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

/** What is known of the daemon at one moment; null where the host does not tell. */
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
  for (const rule of ALERT_RULES) {
    for (const severity of SEVERITIES) {
      const firing = view.firing.filter((alert) => alert.rule === rule && alert.severity === severity);
      emit(SERVICE.alerts, labelsOf({ rule, severity }), firing.length);
    }
  }
  known(SERVICE.polling, view.runningPolls);
  emit(SERVICE.streams, [["kind", "sse"]], streams.sse);
  emit(SERVICE.streams, [["kind", "websocket"]], streams.websocket);
  known(SERVICE.lag, seconds(view.eventLoopLagMs));
  known(SERVICE.database, view.databaseBytes);
  known(SERVICE.disk, view.disk === null ? null : view.disk / 100);
  known(SERVICE.reloaded, lastReload === null ? null : Number(lastReload.outcome === "applied"));
  known(SERVICE.reloadedAt, lastReload === null ? null : seconds(lastReload.at));
  known(PROCESS.cpu, process.cpuSeconds);
  known(PROCESS.memory, process.memoryBytes);
  known(PROCESS.virtual, process.virtualBytes);
  known(PROCESS.fds, process.openFds);
  known(PROCESS.maxFds, process.maxFds);
  known(PROCESS.started, seconds(view.startedAt));
}
