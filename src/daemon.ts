import { createCollector } from "./collector/collector.ts";
import { createExecutor } from "./collector/execute/executor.ts";
import { findTool } from "./collector/find-tool.ts";
import { createDenialWatch } from "./collector/log-tail/denial-watch.ts";
import { createPoller } from "./collector/poll.ts";
import { createReachability } from "./collector/reachability.ts";
import { createCommandRunner } from "./collector/run-command.ts";
import { systemTimers } from "./collector/timers.ts";
import type { Config } from "./config/config.ts";
import type { Environment } from "./config/environment.ts";
import type { LoadedConfig } from "./config/find.ts";
import { type Problem, printProblem } from "./config/problem.ts";
import { createAlertRoom } from "./daemon/alerts.ts";
import { type CertificateRoom, createCertificateRoom } from "./daemon/certificate.ts";
import { configChanges, effectiveConfig } from "./daemon/changes.ts";
import { busTimers, createEventRoom } from "./daemon/events.ts";
import { healthOf } from "./daemon/health.ts";
import { createKeyWatch } from "./daemon/key-watch.ts";
import { processLogging } from "./daemon/logging.ts";
import { createLoopLag } from "./daemon/loop-lag.ts";
import { createMeters } from "./daemon/meters.ts";
import type { ServiceManager } from "./daemon/notify.ts";
import { countersOf, createHostRoom, createLogsPort, sampleReader } from "./daemon/ports.ts";
import { createRemoteWriteRoom } from "./daemon/remote-write.ts";
import { serviceStatus } from "./daemon/service-status.ts";
import { createStatusLog } from "./daemon/status-log.ts";
import { openStoreRoom, startDespiteDamage } from "./daemon/store.ts";
import { createTeardown } from "./daemon/teardown.ts";
import { type Clock, iso, systemClock } from "./domain/clock.ts";
import type { LogOf } from "./domain/log.ts";
import { hostZone } from "./domain/zone.ts";
import { createSampler } from "./events/sampler.ts";
import { createPseudonyms } from "./http/anonymous/pseudonyms.ts";
import { createApp } from "./http/app.ts";
import type { DaemonStatus, HttpDeps } from "./http/deps.ts";
import type { HistoryAnswers } from "./http/history-answers/answers.ts";
import { listen } from "./http/listen.ts";
import { createRequestCounters } from "./http/request-counters.ts";
import { createHub } from "./http/streams/hub.ts";
import { createTeller } from "./http/streams/telling.ts";
import type { TlsMaterial } from "./http/tls.ts";
import { managerOf } from "./managers/registry.ts";
import { createDenialSources } from "./store/denial-sources.ts";
import { createDenials } from "./store/denials.ts";
import { createHistoryClient } from "./store/history/client.ts";
import { createHistory } from "./store/history/history.ts";
import { createKeys } from "./store/keys.ts";
import { createKnownHostsStore } from "./store/known-hosts.ts";
import { createLive } from "./store/live.ts";
import { createQuotas } from "./store/quotas.ts";
import { createRetention } from "./store/retention.ts";
import { installationSecret } from "./store/secrets.ts";
import type { StoreError } from "./store/store-error.ts";
import { type BuildInfo, buildInfo } from "./system/build-info.ts";
import type { Logging } from "./system/log.ts";

/** How long requests that run may take to finish at the end. */
const HTTP_GRACE_MS = 4_000;
/** Uses of keys are written this often; a kill may forget the last ones. */
const KEY_FLUSH_MS = 10_000;
/** Requests counted for quotas are written this often: what `kill -9` may forget. */
const QUOTA_FLUSH_MS = 1_000;

export interface Daemon {
  readonly log: LogOf;
  /** Throws when it cannot start (StoreError, or an Error that names the fix); nothing of it is left behind then. */
  start(): Promise<Started>;
  /** Reads the config again, the TLS files included. A bad one is refused, and the running one stays. */
  reload(): Reloaded;
  /** Ends what runs, in order; nothing that was told is lost. A second call waits for the first. */
  stop(): Promise<void>;
}

export interface Started {
  readonly host: string;
  /** The real one, also when the config said 0. */
  readonly port: number;
  readonly activeKeys: number;
}

export interface Reloaded {
  readonly outcome: "applied" | "refused";
  /** One line each; empty when applied. */
  readonly problems: readonly string[];
  /** Settings that differ and hold only after a restart. */
  readonly needRestart: readonly string[];
}

/** What a daemon takes from its surroundings. */
export interface DaemonDeps {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly build: BuildInfo;
  readonly logging: Logging;
  /** Path of the config file; null when the defaults run. */
  readonly configFile: string | null;
  /** Reads the config again; null = it comes from no file and stays. */
  readonly loadConfig: (() => LoadedConfig) | null;
}

/** The composition root: which part gets which. */
export function createDaemon(config: Config, overrides: Partial<DaemonDeps> = {}): Daemon {
  const environment = overrides.environment ?? process.env;
  const clock = overrides.clock ?? systemClock;
  const build = overrides.build ?? buildInfo();
  const logging = overrides.logging ?? processLogging(config.log, environment);
  const log = logging.logOf;
  let configFile = overrides.configFile ?? null;
  const teardown = createTeardown((what, error) =>
    log("system").error("A part did not end well", { part: what, error: String(error) }),
  );
  let running = config;
  let lastReload: DaemonStatus["lastReload"] = null;
  let applyServers: (servers: Config["servers"]) => void = () => {};
  let certificate: CertificateRoom | null = null;
  let serveCertificate: (material: TlsMaterial) => void = () => {};
  let applyAlerts = () => {};
  let applyExport = () => {};
  let ending: Promise<void> | null = null;
  let manager: ServiceManager | null = null;

  async function start(damage: StoreError | null): Promise<Started> {
    const startedAt = clock.now();
    if (environment.NOTIFY_SOCKET) {
      const { connectServiceManager } = await import("./daemon/notify.ts");
      manager = await connectServiceManager(environment, log("system"));
      teardown.add("service manager", () => manager?.close());
      manager?.says("Opening the database");
    }
    const { store, retell } = openStoreRoom(config.storage, logging, { damage, manager });
    teardown.add("store", () => store.close());

    const { bus, events, logSink } = createEventRoom(store, clock, log("store"));
    const removeSink = logging.addSink(logSink);
    retell(logSink);
    teardown.add("events", () => {
      removeSink();
      bus.flush();
    });

    const keyStore = createKeys({ store, clock });
    const keyWatch = createKeyWatch({ store, keys: keyStore, log: log("audit"), timers: systemTimers });
    const { keys } = keyWatch;
    const keyTimer = setInterval(() => attempt("Uses of keys were not written", keys.flush), KEY_FLUSH_MS);
    teardown.add("keys", () => {
      keyWatch.stop();
      clearInterval(keyTimer);
      keys.flush();
    });

    const quotas = createQuotas({ store, clock });
    const flushQuotas = () => attempt("Requests counted for quotas were not written", quotas.flush);
    const quotaTimer = setInterval(flushQuotas, QUOTA_FLUSH_MS);
    teardown.add("quotas", () => {
      clearInterval(quotaTimer);
      quotas.flush();
    });

    const { servers } = config;
    const memory = createHistory({ store, clock, timers: busTimers, log: log("store") });
    memory.start();
    teardown.add("packing of history", () => memory.stop());
    const live = createLive({
      ...{ store, servers, clock, commit: bus.commit, timers: systemTimers, log: log("store") },
      recorder: memory.recorder,
    });
    live.subscribe(createStatusLog(log("collector")));
    teardown.add("live", () => live.stop());

    const denials = createDenials(store);
    const denialWatch = createDenialWatch({
      ...{ denials, sources: createDenialSources(store), servers, clock, commit: bus.commit },
      ...{ timers: systemTimers, log: log("collector") },
    });
    const forgetPolls = live.subscribe(({ after }) => denialWatch.polled(after));
    teardown.add("denials", async () => {
      forgetPolls();
      await denialWatch.stop();
    });

    const path = environment.PATH ?? "";
    const runner = createCommandRunner({ path, home: environment.HOME ?? "/" });
    teardown.add("commands", () => runner.stop());
    const hosts = createKnownHostsStore({ store, log: log("store") });
    const measure = createReachability();
    const poller = createPoller({
      run: runner.run,
      managerOf,
      measure,
      path,
      clock,
      hosts,
      log: log("collector"),
    });
    const collector = createCollector({
      ...{ servers, clock, timers: systemTimers, log: log("collector"), random: Math.random },
      concurrency: config.collector.concurrency,
      poll: poller.poll,
      record: (outcome, nextPollAt) => {
        meters.polled(outcome);
        return live.record(outcome, nextPollAt);
      },
      forget: poller.forget,
    });
    applyServers = (next) => {
      live.setServers(next);
      denialWatch.setServers(next);
      collector.setServers(next);
    };

    const retention = createRetention({
      ...{ store, clock, timers: busTimers, log: log("store") },
      keep: () => running.retention,
    });
    retention.start();
    teardown.add("retention", () => retention.stop());

    const execute = createExecutor({
      ...{ managerOf, run: runner.run, findTool: (names) => findTool(names, path) },
      settings: () => running.execute,
    });

    const host = createHostRoom(store.directory, clock);
    const alerts = createAlertRoom({
      ...{ store, events, bus, live, clock, timers: systemTimers, log: log("alerts"), run: runner.run },
      config: () => running,
      disk: () => host.sample().disk,
    });
    applyAlerts = alerts.configured;
    const lag = createLoopLag();
    teardown.add("event loop", () => lag.stop());
    const sampler = createSampler({ bus, clock, timers: busTimers, read: sampleReader(host, live.snapshot) });
    teardown.add("sampler", () => sampler.stop());
    const pseudonyms = createPseudonyms(installationSecret(store, "pseudonyms"));
    const hub = createHub({
      teller: createTeller(pseudonyms),
      bus,
      requestSample: sampler.request,
      keyHolds: (id) => keys.get(id)?.state === "active",
      timers: {
        repeat: (work, ms) => setInterval(work, ms),
        clear: (timer) => clearInterval(timer as Timer),
      },
    });
    teardown.add("streams", () => hub.close());

    const history = createHistoryClient<HistoryAnswers>({ path: store.path, clock, log: log("store") });
    teardown.add("history", () => history.stop());

    const requests = createRequestCounters();
    const meters = createMeters({
      ...{ bus, snapshot: live.snapshot, firing: alerts.firing },
      view: () => ({
        ...{ build, startedAt, lastReload, streams: hub.counts(), eventLoopLagMs: lag.longestMs() },
        ...{ databaseBytes: store.sizeBytes(), disk: host.sample().disk },
        runningPolls: collector.status().runningPolls,
      }),
    });
    meters.add(requests.emit);
    teardown.add("meters", () => meters.stop());

    const timezone = hostZone();
    const httpDeps: HttpDeps = {
      ...{ clock, log, build, live, pseudonyms, execute, keys, quotas, host, collector },
      logs: createLogsPort(store, bus),
      alerts: alerts.port,
      denials: { logging: denialWatch.logging },
      history,
      settings: () => ({
        host: running.http.host,
        port: running.http.port,
        maxBodyBytes: running.http.maxBodyBytes,
        rescanTimeoutMs: running.collector.rescanTimeoutMs,
        timezone,
        corsOrigins: running.http.corsOrigins,
        trustedProxies: running.http.trustedProxies,
        limits: running.limits,
      }),
      health: () =>
        healthOf({
          database: store.checkDatabase(),
          collector: collector.status(),
          snapshot: live.snapshot(),
          sample: host.sample(),
          now: clock.now(),
        }),
      streams: {
        hub,
        history: events,
        samples: sampler,
        limits: () => ({ streams: running.limits.streams, perKey: running.limits.streamsPerKey }),
      },
      daemon: {
        status: () => ({
          ...{ startedAt, configFile, lastReload, streams: hub.counts(), eventLoopLagMs: lag.longestMs() },
          database: {
            sizeBytes: store.sizeBytes(),
            schemaVersion: store.schemaVersion,
            oldestSampleAt: memory.oldestSampleAt(),
          },
        }),
        counters: () => countersOf(collector, hub, lag),
        reload: () => reload(printWithoutFile),
      },
      meters: meters.emit,
    };
    const app = createApp(httpDeps, requests);
    const room = createCertificateRoom(config.http.tls, clock, log("http"));
    teardown.add("certificate", () => room.stop());
    certificate = room;
    const { host: address, port } = config.http;
    const listening = listen(app, { host: address, port, tls: room.current() });
    serveCertificate = (material) => {
      listening.renew(material);
      room.serve(material);
    };
    teardown.add("http", async () => {
      const closed = listening.stop(HTTP_GRACE_MS);
      // No new connection can come now: whoever streams is told goodbye.
      hub.close();
      await closed;
    });

    denialWatch.start();
    alerts.start();
    teardown.add("alerts", () => alerts.stop());
    const remoteWrite = createRemoteWriteRoom({
      ...{ meters, snapshot: live.snapshot, clock, timers: systemTimers, log: log("system") },
      config: () => running.remoteWrite,
      instance: `${host.info().hostname}:${listening.port}`,
    });
    remoteWrite.configured();
    teardown.add("remote write", () => remoteWrite.stop());
    applyExport = remoteWrite.configured;
    collector.start();
    teardown.add("collector", () => collector.stop());
    const url = `${config.http.tls === null ? "http" : "https"}://${bracketed(listening.host)}:${listening.port}`;
    manager?.ready(() => serviceStatus({ address: url, servers: live.snapshot().servers, lastReload }));
    log("system").info("licmond started", {
      version: build.version,
      address: url,
      servers: servers.length,
      config: configFile,
      storage: store.directory,
    });
    return { host: listening.host, port: listening.port, activeKeys: keys.count() };
  }

  function reload(print: (problem: Problem) => string = printProblem): Reloaded {
    manager?.reloading();
    try {
      return readAgain(print);
    } finally {
      manager?.reloaded();
    }
  }

  function readAgain(print: (problem: Problem) => string): Reloaded {
    const at = clock.now();
    const refuse = (lines: readonly string[], problems: readonly string[] = lines): Reloaded => {
      for (const problem of lines) log("config").error("Config problem", { problem });
      log("config").error("The config was refused, the running one stays", { problems: lines.length });
      lastReload = { at, outcome: "refused", message: lines.join("\n") };
      return { outcome: "refused", problems, needRestart: [] };
    };
    if (ending !== null) return refuse(["licmond is ending"]);
    const loaded = overrides.loadConfig?.() ?? null;
    if (loaded === null) {
      log("config").info("There is no config file to read again");
      return { outcome: "applied", problems: [], needRestart: [] };
    }
    for (const warning of loaded.warnings) log("config").warn("Config warning", { warning });
    if (!loaded.ok) return refuse(loaded.problems.map(printProblem), loaded.problems.map(print));
    // An editor may be at work on it; the defaults in its place would drop every server.
    if (configFile !== null && loaded.file === null)
      return refuse([`${configFile}: there is no such file any more`], ["there is no config file any more"]);
    configFile = loaded.file;
    const { added, removed, changed, sections, needRestart } = configChanges(running, loaded.config);
    const next = effectiveConfig(running, loaded.config);
    let material: TlsMaterial | null = null;
    try {
      if (next.http.tls !== null) material = certificate?.read(next.http.tls) ?? null;
    } catch (error) {
      return refuse([error instanceof Error ? error.message : String(error)]);
    }
    running = next;
    logging.setLevel(running.log.level);
    applyServers(running.servers);
    const served = certificate?.current() ?? null;
    if (material !== null && (material.cert !== served?.cert || material.key !== served.key)) {
      serveCertificate(material);
      log("http").info("Another TLS certificate is served to new connections", {
        validUntil: iso(material.validTo),
      });
    }
    applyAlerts();
    applyExport();
    const list = (ids: readonly string[]) => (ids.length === 0 ? undefined : ids.join(", "));
    log("config").info("The config was read again", {
      ...{ added: list(added), removed: list(removed), changed: list(changed), settings: list(sections) },
    });
    const message = needRestart.length === 0 ? null : `A restart is needed for ${needRestart.join(", ")}`;
    if (message !== null) log("config").warn("Some settings need a restart", { settings: list(needRestart) });
    lastReload = { at, outcome: "applied", message };
    return { outcome: "applied", problems: [], needRestart };
  }

  function attempt(message: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      log("store").warn(message, { error: error instanceof Error ? error.message : String(error) });
    }
  }

  return {
    log,
    reload: () => reload(),
    start: () =>
      startDespiteDamage(start, async (reason) => {
        manager?.says(`Could not start: ${reason instanceof Error ? reason.message : String(reason)}`);
        await teardown.run();
      }),
    stop() {
      ending ??= (async () => {
        manager?.stopping();
        log("system").info("licmond stops");
        await teardown.run();
      })();
      return ending;
    },
  };
}

/** For answers over HTTP, which name no paths of the host. */
function printWithoutFile(problem: Problem): string {
  const line = problem.file === null || problem.line === null ? "" : `line ${problem.line}: `;
  return line + printProblem({ ...problem, file: null, line: null });
}

/** An IPv6 address as a URL has it. */
function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
