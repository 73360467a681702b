import { createDenialWatch } from "./collector/log-tail/denial-watch.ts";
import { systemTimers } from "./collector/timers.ts";
import type { Config } from "./config/config.ts";
import type { Environment } from "./config/environment.ts";
import type { LoadedConfig } from "./config/find.ts";
import type { Problem } from "./config/problem.ts";
import { createAlertRoom } from "./daemon/alerts.ts";
import { createCertificateRoom } from "./daemon/certificate.ts";
import { createCollectorRoom, createToolRunner } from "./daemon/collector.ts";
import { createDamageReport } from "./daemon/damage-report.ts";
import { busTimers, createEventRoom } from "./daemon/events.ts";
import { httpDepsOf } from "./daemon/http-deps.ts";
import { createKeyRoom } from "./daemon/keys.ts";
import { processLogging } from "./daemon/logging.ts";
import { createLoopLag } from "./daemon/loop-lag.ts";
import { createMeters } from "./daemon/meters.ts";
import type { ServiceManager } from "./daemon/notify.ts";
import { createHostRoom, sampleReader } from "./daemon/ports.ts";
import { createRemoteWriteRoom } from "./daemon/remote-write.ts";
import { createRunningConfig, type Reloaded } from "./daemon/running-config.ts";
import { serviceStatus } from "./daemon/service-status.ts";
import { createStatusLog } from "./daemon/status-log.ts";
import { openStoreRoom, startDespiteDamage } from "./daemon/store.ts";
import { createTeardown } from "./daemon/teardown.ts";
import { keepVitalCopy } from "./daemon/vital.ts";
import { type Clock, systemClock } from "./domain/clock.ts";
import type { LogOf } from "./domain/log.ts";
import { shuffle } from "./domain/track-sessions.ts";
import { createSampler } from "./events/sampler.ts";
import { createPseudonyms } from "./http/anonymous/pseudonyms.ts";
import { createApp } from "./http/app.ts";
import type { HistoryAnswers } from "./http/history-answers/answers.ts";
import { listen } from "./http/listen.ts";
import { createRequestCounters } from "./http/request-counters.ts";
import { createEncoder } from "./http/streams/encode.ts";
import { createHub } from "./http/streams/hub.ts";
import { createClockWatch } from "./store/clock-watch.ts";
import { createDayKeeper } from "./store/days/keeper.ts";
import type { DayQueries } from "./store/days/queries.ts";
import { createDenialSources } from "./store/denial-sources.ts";
import { createDenials } from "./store/denials.ts";
import { createHistoryClient } from "./store/history/client.ts";
import { createHistory } from "./store/history/history.ts";
import { createLive } from "./store/live.ts";
import { createRetention } from "./store/retention.ts";
import { installationSecret } from "./store/secrets.ts";
import type { StoreError } from "./store/store-error.ts";
import { type BuildInfo, buildInfo } from "./system/build-info.ts";
import type { Logging } from "./system/log.ts";
import { isClockSynchronised } from "./system/time-service.ts";

/** How long requests that run may take to finish at the end. */
const HTTP_GRACE_MS = 4_000;
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
  const teardown = createTeardown((what, error) =>
    log("system").error("A part did not end well", { part: what, error: String(error) }),
  );
  const running = createRunningConfig({
    ...{ config, clock, log, file: overrides.configFile ?? null, load: overrides.loadConfig ?? null },
  });
  let ending: Promise<void> | null = null;
  let manager: ServiceManager | null = null;
  let toEnd = () => {};

  async function start(damage: StoreError | null): Promise<Started> {
    const startedAt = clock.now();
    const begun = performance.now();
    if (environment.NOTIFY_SOCKET) {
      const { connectServiceManager } = await import("./daemon/notify.ts");
      manager = await connectServiceManager(environment, log("system"));
      teardown.add("service manager", () => manager?.close());
      manager?.says("Opening the database");
    }
    const { store, retell } = openStoreRoom(config.storage, logging, { damage, manager });
    teardown.add("store", () => store.close());
    teardown.add("side copy", keepVitalCopy(store));
    toEnd = store.busy.ending;

    // Before this process stores anything: it goes by what was stored last.
    const watch = createClockWatch({
      ...{ store, clock, elapsed: () => performance.now(), log: log("store") },
      isSynchronised: () => isClockSynchronised(environment.PATH),
    });

    const { bus, events, logSink } = createEventRoom(store, clock, log("store"));
    const removeSink = logging.addSink(logSink);
    retell(logSink);
    teardown.add("events", () => {
      removeSink();
      bus.flush();
    });

    const people = createKeyRoom(store, clock, log);
    const { keys, quotas } = people;
    teardown.add("keys", () => people.stop());

    const { servers } = config;
    const memory = createHistory({ store, clock, timers: busTimers, log: log("store") });
    memory.start();
    teardown.add("packing of history", () => memory.stop());
    const live = createLive({
      ...{ store, servers, clock, commit: bus.commit, timers: systemTimers, log: log("store") },
      recorder: memory.recorder,
      orderIds: (ids) => shuffle(ids, Math.random),
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

    const runner = createToolRunner(environment);
    teardown.add("commands", () => runner.stop());
    const { collector, execute } = createCollectorRoom({
      ...{ config: running.current, environment, store, clock, log, run: runner.run },
      record: (outcome, nextPollAt) => {
        meters.polled(outcome);
        return live.record(outcome, nextPollAt);
      },
      snapshot: live.snapshot,
      unaskedMs: () => requests.unaskedMs(),
    });

    const retention = createRetention({
      ...{ store, watch, timers: busTimers, log: log("store") },
      keep: () => running.current().retention,
    });
    retention.start();
    teardown.add("retention", () => retention.stop());

    const host = createHostRoom(store.directory, clock);
    const alerts = createAlertRoom({
      ...{ store, events, bus, live, clock, timers: systemTimers, log: log("alerts"), run: runner.run },
      config: running.current,
      disk: () => host.sample().disk,
      clockDoubtMs: watch.doubtMs,
    });
    const lag = createLoopLag();
    teardown.add("event loop", () => lag.stop());
    const sampler = createSampler({ bus, clock, timers: busTimers, read: sampleReader(host, live.snapshot) });
    teardown.add("sampler", () => sampler.stop());
    const pseudonyms = createPseudonyms(installationSecret(store, "pseudonyms"));
    const hub = createHub({
      encoder: createEncoder(pseudonyms),
      bus,
      requestSample: sampler.request,
      keyHolds: (id) => keys.get(id)?.state === "active",
      timers: {
        repeat: (work, ms) => setInterval(work, ms),
        clear: (timer) => clearInterval(timer as Timer),
      },
    });
    teardown.add("streams", () => hub.close());

    const history = createHistoryClient<HistoryAnswers & DayQueries>({
      ...{ path: store.path, clock, log: log("store") },
      onDamage: createDamageReport({ store, clock, log: log("store") }),
    });
    teardown.add("history", () => history.stop());
    const days = createDayKeeper({ store, history, clock, timers: busTimers, log: log("store") });
    days.start();
    teardown.add("sums of days", () => days.stop());

    const requests = createRequestCounters();
    const meters = createMeters({
      ...{ bus, snapshot: live.snapshot, firing: alerts.firing },
      view: () => ({
        ...{ build, startedAt, lastReload: running.lastReload() },
        ...{ streams: hub.counts(), eventLoopLagMs: lag.longestMs() },
        ...{ databaseBytes: store.sizeBytes(), disk: host.sample().disk },
        runningPolls: collector.status().runningPolls,
      }),
    });
    meters.add(requests.emit);
    teardown.add("meters", () => meters.stop());

    const httpDeps = httpDepsOf({
      ...{ clock, log, build, live, pseudonyms, execute, keys, quotas, host, collector, history, running },
      ...{ store, bus, events, sampler, hub, lag, startedAt, begun, reload, meters: meters.emit },
      ...{
        alerts: alerts.port,
        denials: denialWatch,
        oldestSampleAt: memory.oldestSampleAt,
        clockDoubtMs: watch.doubtMs,
      },
    });
    const app = createApp(httpDeps, requests);
    const certificate = createCertificateRoom(config.http.tls, {
      ...{ clock, log: log("http"), serve: (material) => listening.renew(material) },
    });
    teardown.add("certificate", () => certificate.stop());
    const { host: address, port } = config.http;
    const listening = listen(app, { host: address, port, tls: certificate.current() });
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
      config: () => running.current().remoteWrite,
      instance: `${host.info().hostname}:${listening.port}`,
    });
    remoteWrite.configured();
    teardown.add("remote write", () => remoteWrite.stop());
    collector.start();
    teardown.add("collector", () => collector.stop());
    running.connect((next, afterRestart) => {
      const takeUpCertificate = certificate.prepare(next.http.tls, afterRestart.http.tls);
      return () => {
        logging.setLevel(next.log.level);
        live.setServers(next.servers);
        denialWatch.setServers(next.servers);
        collector.setServers(next.servers);
        takeUpCertificate();
        alerts.configured();
        remoteWrite.configured();
      };
    });
    const url = `${config.http.tls === null ? "http" : "https"}://${bracketed(listening.host)}:${listening.port}`;
    manager?.ready(() =>
      serviceStatus({ address: url, servers: live.snapshot().servers, lastReload: running.lastReload() }),
    );
    log("system").info("licmond started", {
      version: build.version,
      address: url,
      servers: servers.length,
      config: running.file(),
      storage: store.directory,
    });
    return { host: listening.host, port: listening.port, activeKeys: keys.count() };
  }

  function reload(print?: (problem: Problem) => string): Reloaded {
    manager?.reloading();
    try {
      return running.reload(print);
    } finally {
      manager?.reloaded();
    }
  }

  return {
    log,
    reload: () => reload(),
    start: () =>
      startDespiteDamage(start, async (reason) => {
        manager?.failed(reason);
        await teardown.run();
      }),
    stop() {
      ending ??= (async () => {
        running.end();
        toEnd();
        manager?.stopping();
        log("system").info("licmond stops");
        await teardown.run();
      })();
      return ending;
    },
  };
}

/** An IPv6 address as a URL has it. */
function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
