import type { Handled } from "../alerts/engine.ts";
import type { Executor } from "../collector/execute/executor.ts";
import type { DenialLogging } from "../collector/log-tail/denial-watch.ts";
import type { AlertCounts } from "../domain/alerts.ts";
import type { Clock } from "../domain/clock.ts";
import type { ErrorCode } from "../domain/errors.ts";
import type { KeyRecord, NewKey } from "../domain/keys.ts";
import type { LogOf } from "../domain/log.ts";
import type { Snapshot } from "../domain/picture.ts";
import type { PollError, PollRaw } from "../domain/poll.ts";
import type { Emit } from "../export/family.ts";
import type { KeyCheck } from "../store/keys.ts";
import type { Pseudonyms } from "./anonymous/pseudonyms.ts";
import type { HistoryPort } from "./history.ts";
import type { StreamsPort } from "./streams/hub.ts";

/**
 * Everything the routes need from the rest of the daemon. The composition root fills it; tests fill it with
 * plain objects. No route knows SQL, a spawn or a timer. Times are epoch milliseconds unless a name says otherwise.
 */
export interface HttpDeps {
  readonly clock: Clock;
  readonly log: LogOf;
  readonly build: BuildInfo;
  /** Asked on every request, so that a reload takes effect without a restart. */
  settings(): HttpSettings;
  readonly live: LiveView;
  /** What anonymized keys see instead of users and hosts. */
  readonly pseudonyms: Pseudonyms;
  readonly collector: CollectorPort;
  readonly execute: Executor;
  readonly keys: KeysPort;
  readonly quotas: QuotasPort;
  /** Does the work; the route caches the answer for 1 s. Must not throw: what fails is told in the check. */
  health(): HealthChecks | Promise<HealthChecks>;
  readonly host: HostPort;
  readonly streams: StreamsPort;
  readonly logs: LogsPort;
  readonly denials: DenialsPort;
  readonly history: HistoryPort;
  readonly alerts: AlertsPort;
  readonly daemon: DaemonPort;
  /** Hands out the daemon's own metrics for Prometheus, those of requests included; called once a scrape. */
  meters(emit: Emit): void;
}

export interface BuildInfo {
  /** `1.2.3`, as in package.json. */
  readonly version: string;
  /** Commit the binary was built from; null when run from source. */
  readonly commit: string | null;
  /** Version of Bun inside. */
  readonly bun: string;
}

export interface HttpSettings {
  readonly host: string;
  /** 0 = any free port (tests). */
  readonly port: number;
  /** Soft cap of a request's body, answered with BODY_TOO_LARGE. */
  readonly maxBodyBytes: number;
  /** How long one rescan or refresh may take altogether. */
  readonly rescanTimeoutMs: number;
  /** IANA zone of this daemon. */
  readonly timezone: string;
  /** Origins whose scripts may read answers and open sockets, as browsers write them (`https://wall.example`). */
  readonly corsOrigins: readonly string[];
  /** Addresses and networks whose X-Forwarded-For and X-Forwarded-Proto are believed. The same array while they stay. */
  readonly trustedProxies: readonly string[];
  readonly limits: {
    /** Of a key that has no figure of its own. */
    readonly requestsPerMinute: number;
    /** Requests at once, of a key and of an address. */
    readonly burst: number;
    /** Of an address, without a valid key. */
    readonly anonymousPerMinute: number;
    /** Of a key that has none of its own; null = any number. */
    readonly dailyQuota: number | null;
    readonly monthlyQuota: number | null;
  };
}

/** The live picture in memory. */
export interface LiveView {
  /** Immutable; a changed snapshot has a higher `version`. */
  snapshot(): Snapshot;
}

export interface CollectorPort {
  /**
   * Polls the named servers (null = every enabled one) now and waits, `timeoutMs` at most in all.
   * A poll that runs is joined. A server not done in time stands with TIMEOUT and its poll goes on.
   * The ids are known and enabled. Never throws for what a license server did.
   */
  rescan(ids: readonly string[] | null, timeoutMs: number): Promise<readonly RescanRow[]>;
  status(): CollectorStatus;
  /** The words of the last poll of a server; null when none was made since the start, or the id is unknown. */
  raw(id: string): PollRaw | null | Promise<PollRaw | null>;
}

export interface RescanRow {
  readonly server: string;
  readonly status: "ok" | "partial" | "failed";
  readonly durationMs: number;
  readonly error: (Omit<PollError, "code"> & { readonly code: ErrorCode }) | null;
}

export interface CollectorStatus {
  readonly servers: number;
  readonly enabled: number;
  readonly runningPolls: number;
  readonly lastPollAt: number | null;
  readonly nextPollAt: number | null;
  /** Durations of the recent polls; null before the first. */
  readonly durationMs: { readonly p50: number | null; readonly p95: number | null };
}

export interface KeysPort {
  /** Takes the key as it was presented. `invalid` says nothing of why: expired and revoked need the secret. */
  verify(presented: string): KeyCheck;
  /** Notes a use (`lastUsedAt`); cheap, may be written later. */
  touch(id: string, at: number): void;
  /** Number of active keys. */
  count(): number;
  /** `keyProblem` has been asked before. */
  create(wanted: NewKey): CreateKeyResult;
  /** All keys, revoked ones included, oldest first. */
  list(): readonly KeyRecord[];
  get(id: string): KeyRecord | null;
  /** Ends a key; `gone` when it was revoked before. */
  revoke(id: string): "revoked" | "gone" | "unknown";
}

export type CreateKeyResult =
  | {
      readonly outcome: "created";
      readonly key: KeyRecord;
      /** `lmk_<id>_<secret>`: told once, here. */
      readonly presented: string;
    }
  /** An active key has this name. */
  | { readonly outcome: "name-taken" };

export interface QuotasPort {
  /** Counts one request of a key, unless a quota is used up: then nothing is counted, and this says which one it is. */
  take(
    keyId: string,
    limits: { readonly daily: number | null; readonly monthly: number | null },
  ): {
    readonly period: "day" | "month";
    readonly limit: number;
    /** Epoch ms at which it begins anew. */
    readonly until: number;
  } | null;
}

export type CheckStatus = "healthy" | "degraded" | "unhealthy";

export interface HealthCheck {
  readonly status: CheckStatus;
  /** For everybody: no names of servers, no paths. */
  readonly message: string;
}

export interface HealthChecks {
  readonly database: HealthCheck;
  readonly collector: HealthCheck;
  readonly disk: HealthCheck;
  readonly clock: HealthCheck;
}

export interface HostPort {
  info(): HostInfo;
  interfaces(): readonly NetworkInterface[];
  /** Percentages 0–100 of the last sample; null where the host does not tell. */
  sample(): HostSample;
}

export interface HostInfo {
  readonly hostname: string;
  /** For people, e.g. `Debian GNU/Linux 12 (bookworm)`. */
  readonly os: string;
  readonly kernel: string;
  readonly arch: string;
  readonly cpuModel: string | null;
  readonly cpuCount: number;
  readonly memoryBytes: number;
}

export interface NetworkInterface {
  readonly name: string;
  readonly addresses: readonly {
    readonly address: string;
    readonly family: "IPv4" | "IPv6";
    readonly prefixLength: number | null;
  }[];
  readonly receivedBytes: number | null;
  readonly sentBytes: number | null;
}

export interface HostSample {
  readonly cpu: number | null;
  readonly memory: number | null;
  readonly disk: number | null;
}

export interface DaemonPort {
  status(): DaemonStatus;
  counters(): DaemonCounters;
  /** Reads the config again. */
  reload(): {
    readonly outcome: "applied" | "refused";
    /** One line each, without values of secrets; empty when applied. */
    readonly problems: readonly string[];
    /** Settings that hold only after a restart. */
    readonly needRestart: readonly string[];
  };
}

export interface DaemonStatus {
  readonly startedAt: number;
  readonly uptimeSeconds: number;
  /** Path of the config file; null when the defaults run. */
  readonly configFile: string | null;
  readonly lastReload: {
    readonly at: number;
    readonly outcome: "applied" | "refused";
    readonly message: string | null;
  } | null;
  readonly streams: { readonly sse: number; readonly websocket: number };
  readonly database: {
    readonly sizeBytes: number | null;
    readonly schemaVersion: number | null;
    readonly oldestSampleAt: number | null;
  };
  /** Longest delay of the event loop in the last seconds. */
  readonly eventLoopLagMs: number | null;
}

/** Counters since the start. Requests by status are counted here in http. */
export interface DaemonCounters {
  readonly polls: { readonly ok: number; readonly partial: number; readonly failed: number };
  /** Lines that no rule knew, over all polls. */
  readonly parseProblems: number;
  readonly streamClients: number;
  /** Resident set of the daemon. */
  readonly memoryBytes: number;
  /** User and system time of the daemon. */
  readonly cpuSeconds: number;
  readonly eventLoopLagMs: number | null;
}

/** Alerts that fire, and what people do about them; stored ones are read from history. */
export interface AlertsPort {
  /** Those that fire now, about these servers; null = all there are. */
  counts(servers: readonly string[] | null): AlertCounts;
  /** `by` is the name of the key. Rejects with StoreError when it could not be stored. */
  acknowledge(id: number, by: string, comment: string | null): Promise<Handled>;
  /** Until an instant, epoch ms. */
  silence(id: number, until: number, comment: string | null): Promise<Handled>;
}

/** Whether denials can be seen; those that were are read from history. */
export interface DenialsPort {
  /** In the order of the config. */
  logging(): readonly DenialLogging[];
}

/** What is done to the stored log lines; they are read from history. */
export interface LogsPort {
  /** Deletes what was logged before `before` (null = until now), audit lines spared, in small steps; answers how many. */
  clear(before: number | null): Promise<number>;
}
