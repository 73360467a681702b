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
 * Everything the routes need from the rest of the daemon, but the streams. The composition root fills it; tests fill it
 * with plain objects. No route knows SQL, a spawn or a timer. Times are epoch milliseconds unless a name says otherwise.
 */
export interface HttpDeps {
  readonly clock: Clock;
  readonly log: LogOf;
  readonly build: BuildInfo;
  /** Asked on every request, so that a reload takes effect without a restart. */
  settings(): HttpSettings;
  /** The live picture in memory: immutable; a changed snapshot has a higher `version`. */
  readonly live: { snapshot(): Snapshot };
  readonly pictures: {
    /** Number of a server's present picture: another one has another number. */
    numberOf(server: string): number;
    /** The picture as anonymized keys may see it. */
    anonymous(picture: ServerPicture): ServerPicture;
  };
  /** At a hub: a query that names sites, with their servers in the place of the sites. Throws NOT_FOUND. */
  readonly narrowed?: (sent: Sent, exchange: { sites?: readonly string[] }) => Sent;
  /** At a hub: returns the API error for an error of its database; null for other errors. */
  readonly troubleOf?: (error: unknown) => ApiError | null;
  /** Names that anonymized keys see instead of users and hosts. */
  readonly pseudonyms: Pseudonyms;
  readonly collector: Pick<Collector, "raw"> & {
    /** `caller`: for the audit trail of the site that a hub asks. */
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
      /** Keys of the role `site` can be made. */
      readonly ofSites?: boolean;
    };
  readonly signIns: Pick<SignIns, "verify" | "touch" | "list"> &
    Later<Pick<SignIns, "create" | "end" | "makeCode" | "takeCode">>;
  /** 8 hex digits that tell this installation from others. */
  readonly installationId: string;
  readonly quotas: Pick<Quotas, "take">;
  /** Runs the checks; the route caches the answer for 1 s. Must not throw: a check reports its failure. */
  health(): HealthChecks | Promise<HealthChecks>;
  readonly host: {
    info(): HostInfo;
    interfaces(): readonly NetworkInterface[];
    /** The last sample. */
    sample(): HostSample;
  };
  readonly logs: {
    /** Deletes the stored lines from before `before` (null = now) except audit lines, in small steps; answers how many. */
    clear(before: number | null): Promise<number>;
  };
  /** Whether denials can be seen, of each server, in the order of the config. */
  readonly denials: { logging(): readonly DenialLogging[] };
  /** A worker makes the answers: the event loop never waits for the database. */
  readonly history: Pick<HistoryClient<HistoryAnswers>, "query">;
  readonly alerts: Pick<AlertEngine, "counts"> & {
    /** `by` is the caller's name. `caller`: for the audit trail of the site that a hub asks. */
    acknowledge(id: number, by: string, comment: string | null, caller: KeyRecord): Promise<HandledHere>;
    silence(id: number, until: number, comment: string | null, caller: KeyRecord): Promise<HandledHere>;
  };
  readonly daemon: DaemonPort;
  /** Hands out the daemon's own metrics for Prometheus, those of requests included; called once a scrape. */
  meters(emit: Emit): void;
}

/** `of`: at a hub, whose alert it is, and its id there. */
export type HandledHere = Handled & {
  readonly of?: { readonly site: string; readonly siteId: number | null };
};

/** Methods that may answer at once or later. */
type Later<Methods> = {
  readonly [Name in keyof Methods]: Methods[Name] extends (...asked: infer Asked) => infer Answer
    ? (...asked: Asked) => Answer | Promise<Answer>
    : never;
};

/** Settings of the config for the HTTP side, and the daemon's IANA zone. */
export interface HttpSettings
  extends Pick<
    Config["http"],
    "host" | "port" | "publicUrl" | "tls" | "maxBodyBytes" | "corsOrigins" | "trustedProxies"
  > {
  /** How long one rescan or refresh may take altogether. */
  readonly rescanTimeoutMs: number;
  readonly timezone: string;
  /** Of which site the rows of answers are. */
  readonly ofSite?: OfSite;
  readonly products: Config["products"];
  readonly maintenance: Config["maintenance"];
  readonly page: Config["page"];
  readonly limits: Omit<Config["limits"], "streams" | "streamsPerKey" | "streamBufferBytes">;
}

export interface DaemonPort {
  status(): DaemonStatus;
  /** Since the start, as `/api/metrics` shows them. Requests by status are counted here in http. */
  counters(): Pick<Metrics, "polls" | "parseProblems" | "streamClients"> & Metrics["process"];
  /** Reads the config again. */
  reload(): {
    readonly outcome: "applied" | "refused";
    /** One line each, without values of secrets; empty when applied. */
    readonly problems: readonly string[];
    /** Settings that hold only after a restart. */
    readonly needRestart: readonly string[];
  };
}

/** As `/api/status` shows it, but for its times. */
export interface DaemonStatus
  extends Pick<Status, "uptimeSeconds" | "configFile" | "streams" | "eventLoopLagMs"> {
  readonly startedAt: number;
  /** Null if this licmond is not a site of a fleet. */
  readonly fleet: FleetStatus | null;
  readonly lastReload: (Omit<NonNullable<Status["lastReload"]>, "at"> & { readonly at: number }) | null;
  readonly database: Omit<Status["database"], "oldestSampleAt" | "backups"> & {
    readonly oldestSampleAt: number | null;
    readonly backups: { readonly state: number | null; readonly history: number | null };
  };
}
