import type { AlertRule, Severity } from "../domain/alerts.ts";
import { ALERT_RULES, SEVERITIES } from "../domain/alerts.ts";
import { counter, type Emit, emitKnown, gauge, NO_LABELS, seconds } from "./family.ts";

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
  readonly build: { readonly version: string; readonly commit: string | null; readonly bun: string };
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
  readonly process: {
    readonly cpuSeconds: number;
    readonly memoryBytes: number;
    readonly virtualBytes: number | null;
    readonly openFds: number | null;
    readonly maxFds: number | null;
  };
}

export function emitService(view: ServiceView, emit: Emit): void {
  const { build, streams, lastReload, process } = view;
  emit(
    SERVICE.build,
    [
      ["version", build.version],
      ["commit", build.commit ?? ""],
      ["bun", build.bun],
    ],
    1,
  );
  for (const rule of ALERT_RULES) {
    for (const severity of SEVERITIES) {
      const firing = view.firing.filter((alert) => alert.rule === rule && alert.severity === severity);
      emit(
        SERVICE.alerts,
        [
          ["rule", rule],
          ["severity", severity],
        ],
        firing.length,
      );
    }
  }
  emit(SERVICE.polling, NO_LABELS, view.runningPolls);
  emit(SERVICE.streams, [["kind", "sse"]], streams.sse);
  emit(SERVICE.streams, [["kind", "websocket"]], streams.websocket);
  emitKnown(emit, SERVICE.lag, NO_LABELS, seconds(view.eventLoopLagMs));
  emitKnown(emit, SERVICE.database, NO_LABELS, view.databaseBytes);
  emitKnown(emit, SERVICE.disk, NO_LABELS, view.disk === null ? null : view.disk / 100);
  if (lastReload !== null) {
    emit(SERVICE.reloaded, NO_LABELS, lastReload.outcome === "applied" ? 1 : 0);
    emit(SERVICE.reloadedAt, NO_LABELS, seconds(lastReload.at));
  }
  emit(PROCESS.cpu, NO_LABELS, process.cpuSeconds);
  emit(PROCESS.memory, NO_LABELS, process.memoryBytes);
  emitKnown(emit, PROCESS.virtual, NO_LABELS, process.virtualBytes);
  emitKnown(emit, PROCESS.fds, NO_LABELS, process.openFds);
  emitKnown(emit, PROCESS.maxFds, NO_LABELS, process.maxFds);
  emit(PROCESS.started, NO_LABELS, seconds(view.startedAt));
}
