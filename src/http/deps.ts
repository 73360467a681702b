import type { AlertEngine, Handled } from "../alerts/engine.ts";
import type { Collector, CollectorStatus } from "../collector/collector.ts";
import type { Executor } from "../collector/execute/executor.ts";
import type { DenialLogging } from "../collector/log-tail/denial-watch.ts";
import type { Config } from "../config/config.ts";
import type { ApiError } from "../domain/errors.ts";
import type { KeyRecord } from "../domain/keys.ts";
import type { LogOf } from "../domain/log.ts";
import type { ServerPicture, Snapshot } from "../domain/picture.ts";
import type { FleetStatus, HealthChecks, Metrics, Status } from "../domain/service/status.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { Emit } from "../export/family.ts";
import type { HistoryClient } from "../history/client.ts";
import type { Keys } from "../store/keys.ts";
import type { Quotas } from "../store/quotas.ts";
import type { SignIns } from "../store/sign-ins.ts";
import type { BuildInfo } from "../system/build-info.ts";
import type { HostInfo, NetworkInterface } from "../system/host-info.ts";
import type { HostSample } from "../system/host-metrics.ts";
import type { Pseudonyms } from "./anonymous/anonymous.ts";
import type { OfSite } from "./answers/answer.ts";
import type { HistoryAnswers } from "./history-answers/answers.ts";
import type { Sent } from "./query.ts";

/**
 * Dependencies of the routes except the streams. The composition root fills them, tests use plain objects. Routes
 * know no SQL, processes or timers. Times are epoch ms unless a name says otherwise.
 */
export interface HttpDeps {
  readonly clock: Clock;
  readonly log: LogOf;
  readonly build: BuildInfo;
  /** Read on every request, so a reload takes effect without a restart. */
  settings(): HttpSettings;
  /** Immutable; a changed snapshot has a higher `version`. */
  readonly live: { snapshot(): Snapshot };
  readonly pictures: {
    /** Returns the number of a server's current picture. Each picture has a new number. */
    numberOf(server: string): number;
    /** Returns the picture for anonymized keys. */
    anonymous(picture: ServerPicture): ServerPicture;
  };
  /** At a hub: replaces sites in a query by their servers. Throws NOT_FOUND. */
  readonly narrowed?: (sent: Sent, exchange: { sites?: readonly string[] }) => Sent;
  /** At a hub: returns the API error for an error of its database; null for other errors. */
  readonly troubleOf?: (error: unknown) => ApiError | null;
  readonly pseudonyms: Pseudonyms;
  readonly collector: Pick<Collector, "raw"> & {
    /** `caller` is for the audit trail of the site that a hub asks. */
    rescan(
      ids: readonly string[] | null,
      timeoutMs: number,
      caller: KeyRecord,
    ): ReturnType<Collector["rescan"]>;
    status(): Omit<CollectorStatus, "asked" | "polls" | "parseProblems">;
  };
  readonly execute: Pick<Executor, "enabled" | "list">;
  readonly keys: Pick<Keys, "verify" | "touch" | "count" | "list" | "get"> &
    Later<Pick<Keys, "create" | "revoke">> & {
      /** Whether keys may have the role `site`. */
      readonly ofSites?: boolean;
    };
  readonly signIns: Pick<SignIns, "verify" | "touch" | "list"> &
    Later<Pick<SignIns, "create" | "end" | "makeCode" | "takeCode">>;
  /** 8 hex digits that identify this installation. */
  readonly installationId: string;
  readonly quotas: Pick<Quotas, "take">;
  /**
   * Returns the health of the daemon, which the route caches for 1 s. Must not throw: a check reports its
   * failure.
   */
  health(): HealthChecks | Promise<HealthChecks>;
  readonly host: {
    info(): HostInfo;
    interfaces(): readonly NetworkInterface[];
    /** Returns the last sample. */
    sample(): HostSample;
  };
  readonly logs: {
    /**
     * Deletes stored lines before `before` (null = now) except audit lines, in small steps. Returns the
     * number of deleted lines.
     */
    clear(before: number | null): Promise<number>;
  };
  /** Whether denials of each server can be seen, in the order of the config. */
  readonly denials: { logging(): readonly DenialLogging[] };
  /** A worker builds the answers, so the event loop never waits for the database. */
  readonly history: Pick<HistoryClient<HistoryAnswers>, "query">;
  readonly alerts: Pick<AlertEngine, "counts"> & {
    /** `by` is the caller's name. A hub passes `caller` to the site, for its audit trail. */
    acknowledge(id: number, by: string, comment: string | null, caller: KeyRecord): Promise<HandledHere>;
    silence(id: number, until: number, comment: string | null, caller: KeyRecord): Promise<HandledHere>;
  };
  readonly daemon: DaemonPort;
  /** Emits the daemon's own metrics, including those of requests. Called once per scrape. */
  meters(emit: Emit): void;
}

/** `of` is set at a hub: the alert's site, and the alert's id at that site. */
export type HandledHere = Handled & {
  readonly of?: { readonly site: string; readonly siteId: number | null };
};

/** Methods whose result may be a promise. */
type Later<Methods> = {
  readonly [Name in keyof Methods]: Methods[Name] extends (...asked: infer Asked) => infer Answer
    ? (...asked: Asked) => Answer | Promise<Answer>
    : never;
};

/** Settings of the config that routes use, and the daemon's IANA zone. */
export interface HttpSettings
  extends Pick<
    Config["http"],
    "host" | "port" | "publicUrl" | "tls" | "maxBodyBytes" | "corsOrigins" | "trustedProxies"
  > {
  /** Maximum duration of a rescan or refresh as a whole. */
  readonly rescanTimeoutMs: number;
  readonly timezone: string;
  readonly ofSite?: OfSite;
  readonly products: Config["products"];
  readonly maintenance: Config["maintenance"];
  readonly page: Config["page"];
  readonly limits: Omit<Config["limits"], "streams" | "streamsPerKey" | "streamBufferBytes">;
}

interface DaemonPort {
  status(): DaemonStatus;
  /** Counts since the start for `/api/metrics`. `http` counts requests itself. */
  counters(): Pick<Metrics, "polls" | "parseProblems" | "streamClients"> & Metrics["process"];
  reload(): {
    readonly outcome: "applied" | "refused";
    /** Problems of the config, one line each, without secrets; empty if the config was applied. */
    readonly problems: readonly string[];
    /** Settings that only a restart applies. */
    readonly needRestart: readonly string[];
  };
}

/** As in `/api/status`, with times as epoch ms. */
export interface DaemonStatus
  extends Pick<Status, "uptimeSeconds" | "configFile" | "streams" | "eventLoopLagMs"> {
  readonly startedAt: number;
  /** State of the fleet; null outside a fleet. */
  readonly fleet: FleetStatus | null;
  readonly lastReload: (Omit<NonNullable<Status["lastReload"]>, "at"> & { readonly at: number }) | null;
  readonly database: Omit<Status["database"], "oldestSampleAt" | "backups"> & {
    readonly oldestSampleAt: number | null;
    readonly backups: { readonly state: number | null; readonly history: number | null };
  };
}
