import type { RunCommand } from "./alerts/notify/command.ts";
import { createDenialWatch } from "./collector/log-tail/denial-watch.ts";
import type { CommandRunner } from "./collector/run-command.ts";
import type { Config } from "./config/config.ts";
import { createAlertService } from "./daemon/alerts.ts";
import { createPolling, createToolRunner } from "./daemon/collector.ts";
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
import { createProcess, type Frame, type ProcessDeps, type Started } from "./daemon/process.ts";
import { createReports } from "./daemon/reports.ts";
import { createDailyBackups, openDaemonStore } from "./daemon/store.ts";
import { shuffle } from "./domain/polls/track-sessions.ts";
import { emitFleet } from "./export/meters.ts";
import { createHistoryClient } from "./history/client.ts";
import type { DayQueries } from "./history/day-packer.ts";
import { createHistory } from "./history/history.ts";
import { createRetention } from "./history/retention.ts";
import { createPseudonyms, type Pseudonyms } from "./http/anonymous/anonymous.ts";
import { createApp } from "./http/app.ts";
import type { HistoryAnswers } from "./http/history-answers/answers.ts";
import { createRequestCounters } from "./http/request-counters.ts";
import { createBroadcaster } from "./http/streams/broadcaster.ts";
import { createEncoder } from "./http/streams/encode.ts";
import { createPictureFeed } from "./http/streams/picture-feed.ts";
import { createLive, type Live } from "./live/live.ts";
import { createSampler, type Sampler } from "./live/sampler.ts";
import type { ReportQueries } from "./reports/figures.ts";
import { createClockWatch } from "./store/clock-watch.ts";
import { createDenialSources, createDenials } from "./store/denials.ts";
import type { Store } from "./store/open/open.ts";
import { installationId, installationSecret } from "./store/secrets.ts";
import { isClockSynchronised } from "./system/host-info.ts";
import type { LogSink } from "./system/log.ts";
import { serviceStatus } from "./system/service-manager.ts";

export function createDaemon(config: Config, overrides: Partial<ProcessDeps> = {}) {
  return createProcess("licmond", config, overrides, start);
}

async function start(frame: Frame): Promise<Started> {
  const { environment, clock, timers, build, log, running, startedAt, teardown, part, manager } = frame;
  manager?.says("Opening the database");
  const { store, replayLines } = openDaemonStore(running.current().storage, frame.logging, manager);
  teardown.add("store", store.close);
  frame.beforeEnd = () => [store, store.state].forEach(({ busy }) => void busy.ending());

  const config = running.current;
  const fleet = part("fleet", createFleet({ ...frame, store, config }));
  const records = keepRecords(frame, store, replayLines);
  const { live, bus } = records;
  const people = part("keys", createKeyService(store, clock, log));
  const { run } = part("commands", createToolRunner(environment));
  const denials = watchDenials(frame, records, run);
  const requests = createRequestCounters();
  const polled: Meters["polled"] = (outcome) => meters.polled(outcome);
  const { unaskedMs } = requests;
  const polling = createPolling({ ...frame, ...records, config, run, unaskedMs, polled });
  const host = createHostService(store.directory, clock);
  const alerts = watchAlerts(frame, records, host, run, fleet);
  const lag = part("event loop", createLoopLag());
  const read = sampleReader(host, live.snapshot);
  const sampler = part("sampler", createSampler({ clock, timers, bus, read }));
  const secret = installationSecret(store);
  const pseudonyms = createPseudonyms(secret);
  const holds = (id: string) => people.holds(id, config().page);
  const { broadcaster, pictures } = openStreams(frame, records, sampler, holds, pseudonyms);
  const meters = part(
    "meters",
    createMeters({
      bus,
      snapshot: live.snapshot,
      firing: alerts.firing,
      view: () => ({
        build,
        startedAt,
        lastReload: running.lastReload(),
        streams: broadcaster.counts(),
        eventLoopLagMs: lag.longestMs(),
        databaseBytes: store.sizeBytes(),
        disk: host.sample().disk,
        runningPolls: polling.collector.status().runningPolls,
      }),
    }),
  );
  meters.add(requests.emit);
  meters.add((emit) => emitFleet(fleet.status(), emit));
  const services = { host, broadcaster, sampler, lag, denials, fleet, pictures, alerts: alerts.port };
  const known = { pseudonyms, installationId: installationId(secret), meters: meters.emit };
  const httpDeps = httpDepsOf({ ...frame, ...records, ...people, ...polling, ...services, ...known });
  const listening = frame.listen(createApp(httpDeps, requests), broadcaster.close);

  denials.start();
  part("alerts", alerts).start();
  fleet.start({ ...polling, live, alerts: alerts.port });
  part("reports", createReports({ ...records, clock, config, log: log("alerts") })).start();
  const push = pushMetrics(frame, live, meters, `${host.info().hostname}:${listening.port}`);
  part("parsing", polling.parsing);
  part("collector", polling.collector).start();
  const { address } = listening;
  const status = () => ({ address, servers: live.snapshot().servers, lastReload: running.lastReload() });
  const { servers } = config();
  const fields = { servers: servers.length, config: running.file(), storage: store.directory };
  const apply = ({ servers }: Config) => {
    for (const each of [live, denials, polling.collector]) each.setServers(servers);
    for (const each of [alerts, push, pictures, fleet]) each.configured();
  };
  frame.ready(listening, () => serviceStatus(status()), fields, apply);
  return { host: listening.host, port: listening.port, activeKeys: people.keys.count() };
}

/** Creates the parts that store polls and events: bus, live pictures, history and cleanup. */
function keepRecords(
  { clock, timers, environment, logging, log, running, teardown, part }: Frame,
  store: Store,
  replayLines: (sink: LogSink) => void,
) {
  const storeLog = log("store");
  const common = { clock, timers, store, log: storeLog };
  // Create this before the process stores anything, because it uses the last stored time.
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
    servers: running.current().servers,
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
    clock,
    timers,
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

function watchAlerts(
  { clock, timers, running, log }: Frame,
  records: Records,
  { sample }: HostService,
  run: RunCommand,
  fleet: Fleet,
) {
  return createAlertService({
    ...records,
    clock,
    timers,
    config: running.current,
    host: () => ({
      disk: sample().disk,
      clockDoubtMs: records.clockDoubtMs(),
      outbox: fleet.outbox(),
    }),
    run,
    hubNotifies: fleet.notifies,
    log: log("alerts"),
  });
}

function pushMetrics(
  { clock, timers, running, log, part }: Frame,
  { snapshot }: Live,
  meters: Meters,
  instance: string,
) {
  const config = () => running.current().remoteWrite;
  const push = createRemoteWrite({ clock, timers, config, meters, snapshot, instance, log: log("system") });
  push.configured();
  return part("remote write", push);
}

function watchDenials(
  { clock, timers, running, log, teardown, part }: Frame,
  { store, bus, live }: Records,
  run: CommandRunner["run"],
) {
  const watch = createDenialWatch({
    denials: createDenials(store),
    sources: createDenialSources(store),
    commit: bus.commit,
    servers: running.current().servers,
    clock,
    timers,
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
  { clock, running, log, teardown, part }: Frame,
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
