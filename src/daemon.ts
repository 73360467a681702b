import type { RunCommand } from "./alerts/notify/command.ts";
import { createDenialWatch } from "./collector/log-tail/denial-watch.ts";
import type { CommandRunner } from "./collector/run-command.ts";
import type { Config } from "./config/config.ts";
import type { Environment } from "./config/environment.ts";
import type { LoadedConfig } from "./config/load.ts";
import type { Problem } from "./config/problem.ts";
import { createAlertService } from "./daemon/alerts.ts";
import { type CertificateDeps, createCertificate } from "./daemon/certificate.ts";
import { createPolling, createToolRunner } from "./daemon/collector.ts";
import { createDailyBackups } from "./daemon/daily-backups.ts";
import { createDenialLog, createEventBus, createStatusLog } from "./daemon/events.ts";
import { createFleet, type Fleet } from "./daemon/fleet.ts";
import { httpDepsOf } from "./daemon/http-deps.ts";
import { createKeyService } from "./daemon/keys.ts";
import {
  createHostService,
  createLoopLag,
  createMeters,
  createRemoteWrite,
  type HostService,
  type Meters,
  sampleReader,
} from "./daemon/meters.ts";
import { createReports } from "./daemon/reports.ts";
import { createRunningConfig, type Reloaded } from "./daemon/running-config.ts";
import { connectServiceManager, type ServiceManager, serviceStatus } from "./daemon/service-manager.ts";
import { openDaemonStore, startDespiteDamage } from "./daemon/store.ts";
import { createTeardown } from "./daemon/teardown.ts";
import { shuffle } from "./domain/polls/track-sessions.ts";
import { type Clock, systemClock, systemTimers } from "./domain/time/clock.ts";
import { emitFleet } from "./export/meters.ts";
import { createHistoryClient } from "./history/client.ts";
import type { DayQueries } from "./history/day-packer.ts";
import { createHistory } from "./history/history.ts";
import { createRetention } from "./history/retention.ts";
import { createPseudonyms, type Pseudonyms } from "./http/anonymous/anonymous.ts";
import { type App, createApp } from "./http/app.ts";
import type { HistoryAnswers } from "./http/history-answers/answers.ts";
import { listen } from "./http/listen.ts";
import { createRequestCounters } from "./http/request-counters.ts";
import { createBroadcaster } from "./http/streams/broadcaster.ts";
import { createEncoder } from "./http/streams/encode.ts";
import { createPictureFeed } from "./http/streams/picture-feed.ts";
import { listenOnSockets } from "./http/unix-sockets.ts";
import { createLive, type Live } from "./live/live.ts";
import { createSampler, type Sampler } from "./live/sampler.ts";
import type { ReportQueries } from "./reports/figures.ts";
import { createClockWatch } from "./store/clock-watch.ts";
import { createDenialSources, createDenials } from "./store/denials.ts";
import type { Store } from "./store/open/open.ts";
import { installationId, installationSecret } from "./store/secrets.ts";
import { type BuildInfo, buildInfo } from "./system/build-info.ts";
import { isClockSynchronised } from "./system/host-info.ts";
import { type Logging, type LogSink, processLogging } from "./system/log.ts";

/** Time for running requests to finish at shutdown. */
const HTTP_GRACE_MS = 4_000;

export interface Started {
  readonly host: string;
  /** Actual port, also if the config has 0. */
  readonly port: number;
  readonly activeKeys: number;
}

/** Environment of a daemon. */
export interface DaemonDeps {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly build: BuildInfo;
  readonly logging: Logging;
  /** Path of the config file; null when using defaults. */
  readonly configFile: string | null;
  /** Reloads the config; null = not from a file. */
  readonly loadConfig: (() => LoadedConfig) | null;
}

/** Creates the daemon from its parts. `start` creates them in order, `stop` ends them in reverse. */
export function createDaemon(config: Config, overrides: Partial<DaemonDeps> = {}) {
  const environment = overrides.environment ?? process.env;
  const clock = overrides.clock ?? systemClock;
  const build = overrides.build ?? buildInfo();
  const logging = overrides.logging ?? processLogging(config.log, environment);
  const log = logging.logOf;
  const time = { clock, timers: systemTimers };
  const teardown = createTeardown(log("system"));
  const { part } = teardown;
  const { configFile: file = null, loadConfig: load = null } = overrides;
  const running = createRunningConfig({ config, clock, log, file, load });
  let ending: Promise<void> | null = null;
  let manager: ServiceManager | null = null;
  let toEnd = () => {};

  async function start(): Promise<Started> {
    const startedAt = clock.now();
    const begun = performance.now();
    manager = await connectServiceManager(environment, log("system"));
    if (manager !== null) part("service manager", manager);
    manager?.says("Opening the database");
    const { store, replayLines } = openDaemonStore(config.storage, logging, manager);
    teardown.add("store", store.close);
    toEnd = () => {
      for (const file of [store, store.state]) file.busy.ending();
    };

    const fleet = part("fleet", createFleet({ ...time, store, config: running.current, log, build }));
    const records = keepRecords(store, replayLines);
    const { live, bus } = records;
    const people = part("keys", createKeyService(store, clock, log));
    const { run } = part("commands", createToolRunner(environment));
    const denials = watchDenials(records, run);
    const requests = createRequestCounters();
    const polling = createPolling({
      ...records,
      ...time,
      config: running.current,
      environment,
      run,
      unaskedMs: requests.unaskedMs,
      polled: (outcome) => meters.polled(outcome),
      log,
    });
    const host = createHostService(store.directory, clock);
    const alerts = watchAlerts(records, host, run, fleet);
    const lag = part("event loop", createLoopLag());
    const read = sampleReader(host, live.snapshot);
    const sampler = part("sampler", createSampler({ ...time, bus, read }));
    const secret = installationSecret(store);
    const pseudonyms = createPseudonyms(secret);
    const holds = (id: string) => people.holds(id, running.current().page);
    const { broadcaster, pictures } = openStreams(records, sampler, holds, pseudonyms);
    const view = () => ({
      build,
      startedAt,
      lastReload: running.lastReload(),
      streams: broadcaster.counts(),
      eventLoopLagMs: lag.longestMs(),
      databaseBytes: store.sizeBytes(),
      disk: host.sample().disk,
      runningPolls: polling.collector.status().runningPolls,
    });
    const meters = part(
      "meters",
      createMeters({ bus, snapshot: live.snapshot, firing: alerts.firing, view }),
    );
    meters.add(requests.emit);
    meters.add((emit) => emitFleet(fleet.status(), emit));
    const known = { pseudonyms, installationId: installationId(secret) };
    const answers = {
      ...records,
      ...people,
      ...polling,
      ...known,
      host,
      broadcaster,
      sampler,
      lag,
      denials,
      fleet,
    };
    const served = { clock, log, build, running, reload, startedAt, begun, meters: meters.emit, pictures };
    const httpDeps = httpDepsOf({ ...answers, ...served, alerts: alerts.port });
    const { listening, certificate } = openListeners(createApp(httpDeps, requests), broadcaster.close);

    denials.start();
    part("alerts", alerts).start();
    fleet.start({ ...polling, live, alerts: alerts.port });
    const reports = createReports({ ...records, clock, config: running.current, log: log("alerts") });
    part("reports", reports).start();
    const push = pushMetrics(live, meters, `${host.info().hostname}:${listening.port}`);
    part("parsing", polling.parsing);
    part("collector", polling.collector).start();
    running.connect((next, afterRestart) => {
      const takeUpCertificate = certificate.prepare(next.http.tls, afterRestart.http.tls);
      return () => {
        logging.setLevel(next.log.level);
        for (const each of [live, denials, polling.collector]) each.setServers(next.servers);
        takeUpCertificate();
        for (const each of [alerts, push, pictures, fleet]) each.configured();
      };
    });
    const address = urlOf(config, listening);
    const state = () => ({ address, servers: live.snapshot().servers, lastReload: running.lastReload() });
    manager?.ready(() => serviceStatus(state()));
    const settings = { servers: config.servers.length, config: running.file(), storage: store.directory };
    log("system").info("licmond started", { version: build.version, address, ...settings });
    return { host: listening.host, port: listening.port, activeKeys: people.keys.count() };
  }

  /** Creates the parts that store polls and events: bus, live pictures, history and cleanup. */
  function keepRecords(store: Store, replayLines: (sink: LogSink) => void) {
    const storeLog = log("store");
    const common = { ...time, store, log: storeLog };
    // Before this process stores anything, because it uses the last stored time.
    const watch = createClockWatch({
      ...common,
      elapsed: () => performance.now(),
      isSynchronised: () => isClockSynchronised(environment.PATH),
    });
    const { bus, events, logSink } = createEventBus(store, clock, storeLog);
    const removeSink = logging.addSink(logSink);
    replayLines(logSink);
    teardown.add("events", () => {
      removeSink();
      bus.flush();
    });
    const { path, metDamage: onDamage } = store;
    type Queries = HistoryAnswers & DayQueries & ReportQueries;
    const history = createHistoryClient<Queries>({ path, clock, onDamage, log: storeLog });
    const intervals = () =>
      Object.fromEntries(live.snapshot().servers.map(({ server }) => [server.id, server.intervalMs]));
    const kept = createHistory({ ...common, days: { query: history.query, intervals } });
    const live = createLive({
      ...common,
      commit: bus.commit,
      servers: config.servers,
      recorder: kept.recorder,
      orderIds: (ids) => shuffle(ids, Math.random),
      clockAheadMs: watch.doubtNowMs,
    });
    part("live", live).subscribe(createStatusLog(log("collector")));
    part("history", history);
    part("packing of history", kept).start();
    const keep = () => running.current().retention;
    const retention = createRetention({ ...common, watch, keep });
    part("retention", retention).start();
    const backups = createDailyBackups({
      directory: store.directory,
      keep: () => running.current().storage.backups,
      ...time,
      log: storeLog,
    });
    part("daily backups", backups).start();
    const { oldestSampleAt } = kept;
    const { newest: newestBackups } = backups;
    const { statusSince } = kept.recorder;
    const clockDoubtMs = watch.doubtMs;
    return { store, bus, events, live, history, oldestSampleAt, newestBackups, clockDoubtMs, statusSince };
  }

  type Records = ReturnType<typeof keepRecords>;

  function watchAlerts(records: Records, { sample }: HostService, run: RunCommand, fleet: Fleet) {
    const host = () => ({
      disk: sample().disk,
      clockDoubtMs: records.clockDoubtMs(),
      outbox: fleet.outbox(),
    });
    return createAlertService({
      ...records,
      ...time,
      config: running.current,
      host,
      run,
      hubNotifies: fleet.notifies,
      log: log("alerts"),
    });
  }

  function pushMetrics({ snapshot }: Live, meters: Meters, instance: string) {
    const wanted = () => running.current().remoteWrite;
    const push = createRemoteWrite({
      ...time,
      config: wanted,
      meters,
      snapshot,
      instance,
      log: log("system"),
    });
    push.configured();
    return part("remote write", push);
  }

  function watchDenials({ store, bus, live }: Records, run: CommandRunner["run"]) {
    const watch = createDenialWatch({
      denials: createDenials(store),
      sources: createDenialSources(store),
      commit: bus.commit,
      servers: config.servers,
      ...time,
      log: log("collector"),
      run,
    });
    teardown.add("log of denials", bus.subscribe(createDenialLog(log("collector"))));
    part("denials", watch);
    teardown.add(
      "denials of polls",
      live.subscribe(({ after }) => watch.polled(after)),
    );
    return watch;
  }

  function openStreams(
    { bus, live }: Records,
    sampler: Sampler,
    keyHolds: (id: string) => boolean,
    pseudonyms: Pseudonyms,
  ) {
    const broadcaster = createBroadcaster({
      encoder: createEncoder(pseudonyms, () => running.current().fleet?.site ?? null),
      bus,
      requestSample: sampler.request,
      keyHolds,
      bufferBytes: () => running.current().limits.streamBufferBytes,
      log: log("http"),
    });
    teardown.add("streams", () => broadcaster.close());
    const feed = createPictureFeed({ live, bus, isWanted: broadcaster.takesPictures, pseudonyms, clock });
    return { broadcaster, pictures: part("pictures", feed) };
  }

  function openListeners(app: App, endStreams: () => void) {
    const serve: CertificateDeps["serve"] = (material) => listening.renew(material);
    const deps = { clock, log: log("http"), serve };
    const certificate = part("certificate", createCertificate(config.http.tls, deps));
    const { host, port } = config.http;
    const listening = listen(app, { host, port, tls: certificate.current() });
    const [directory] = (environment.RUNTIME_DIRECTORY || null)?.split(":") ?? [];
    const sockets = directory === undefined ? null : listenOnSockets(app, directory, log("http"));
    teardown.add("http", async () => {
      const closed = Promise.all([listening.stop(HTTP_GRACE_MS), sockets?.stop(HTTP_GRACE_MS)]);
      // No new connections can arrive now: say goodbye on open streams.
      endStreams();
      await closed;
    });
    return { listening, certificate };
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
    /** Reloads the config and TLS files. Keeps the running config if the new one is invalid. */
    reload: () => reload(),
    /** Throws StoreError, or an Error with a fix, if it cannot start. Leaves nothing behind then. */
    start: () =>
      startDespiteDamage(start, async (reason) => {
        manager?.failed(reason);
        await teardown.run();
      }),
    /** Stops everything in order without losing published events. A second call waits for the first. */
    stop() {
      ending ??= (async () => {
        running.end();
        toEnd();
        manager?.stopping();
        log("system").info("licmond is stopping");
        await teardown.run();
      })();
      return ending;
    },
  };
}

/** Returns the URL, with brackets around an IPv6 address. */
function urlOf({ http }: Config, { host, port }: { readonly host: string; readonly port: number }): string {
  return `${http.tls === null ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
