import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import type { LoadedConfig } from "../config/load.ts";
import { createHostService, createLoopLag } from "../daemon/meters.ts";
import { createRunningConfig } from "../daemon/running-config.ts";
import { connectServiceManager, type ServiceManager } from "../daemon/service-manager.ts";
import { createTeardown } from "../daemon/teardown.ts";
import { messageOf } from "../domain/error-code.ts";
import { type Clock, DAY_MS, systemClock, systemTimers } from "../domain/time/clock.ts";
import { createPseudonyms, limitedPicture } from "../http/anonymous/anonymous.ts";
import { listen } from "../http/listen.ts";
import { createRequestCounters } from "../http/request-counters.ts";
import { perPicture } from "../http/snapshot.ts";
import { readTls } from "../http/tls.ts";
import { listenOnSockets } from "../http/unix-sockets.ts";
import { installationId } from "../store/secrets.ts";
import { type BuildInfo, buildInfo } from "../system/build-info.ts";
import { type Logging, processLogging } from "../system/log.ts";
import { createHubAccess } from "./access/access.ts";
import { createHubAlerts } from "./alerts/service.ts";
import { createHubApp } from "./app.ts";
import { createCommands } from "./commands/commands.ts";
import { createHeldAnswers } from "./commands/held-answers.ts";
import { openPool } from "./database/connect.ts";
import { migrate, schemaVersion } from "./database/migrate.ts";
import { createPartitions } from "./database/partitions.ts";
import { createReads } from "./database/reads.ts";
import { createHistoryWorker } from "./history/port.ts";
import { hubDepsOf, sitesHealth } from "./http-deps.ts";
import { createDirectory } from "./lists/directory.ts";
import { createOwnLines } from "./logs/own-lines.ts";
import { createPushMeter } from "./metrics/exposition.ts";
import { takePush } from "./push/take-push.ts";
import { createRetention } from "./retention.ts";
import { createPushHealth } from "./routes/push.ts";
import { hubSecret } from "./secret.ts";
import { createHubStreams } from "./streams/streams.ts";
import { createWatch, type Watch } from "./watch.ts";

/** How long running requests may take to finish at shutdown. */
const HTTP_GRACE_MS = 4_000;

export interface HubDeps {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly build: BuildInfo;
  readonly logging: Logging;
  readonly configFile: string | null;
  readonly loadConfig: (() => LoadedConfig) | null;
}

/** Composition root of a hub. All state is in PostgreSQL, so several hubs can share it. */
export function createHub(config: Config, overrides: Partial<HubDeps> = {}) {
  const environment = overrides.environment ?? process.env;
  const clock = overrides.clock ?? systemClock;
  const build = overrides.build ?? buildInfo();
  const logging = overrides.logging ?? processLogging(config.log, environment);
  const log = logging.logOf;
  const teardown = createTeardown(log("system"));
  const { configFile: file = null, loadConfig: load = null } = overrides;
  const running = createRunningConfig({ config, clock, log, file, load });
  let ending: Promise<void> | null = null;
  let manager: ServiceManager | null = null;

  async function start() {
    if (config.hub === null)
      throw new Error('The config has no [hub]: database = "postgres://…" names the database of the hub.');
    const startedAt = clock.now();
    const begun = performance.now();
    manager = await connectServiceManager(environment, log("system"));
    if (manager !== null) teardown.part("service manager", manager);
    const pool = openPool(config.hub);
    teardown.add("database", () => pool.close({ timeout: 2 }));
    await migrate(pool).catch((error: unknown) => {
      const { host } = new URL(config.hub?.database ?? "");
      throw new Error(`Cannot use the hub's database at ${host}: ${messageOf(error)}.`);
    });
    const own = teardown.part("log", createOwnLines(pool, clock));
    teardown.add("own lines", logging.addSink(own.sink));
    const secret = await hubSecret(pool);
    const partitions = createPartitions(pool, () => Math.floor(clock.now() / DAY_MS));
    const keep = () => running.current().retention;
    teardown.part("retention", createRetention({ pool, partitions, clock, keep, log: log("store") }));
    const access = teardown.part("keys", await createHubAccess(pool, clock, log("store")));
    const reads = teardown.part("replica", createReads({ hub: config.hub, pool, clock, log: log("store") }));
    await reads.look();
    const directory = createDirectory(pool, clock);
    await directory.renew();
    const commands = createCommands({ pool, directory, clock, timers: systemTimers });
    const heldAnswers = createHeldAnswers({ pool, clock, timers: systemTimers });
    const host = createHostService("/", clock);
    const pseudonyms = createPseudonyms(secret);
    const anonymous = perPicture((picture) => limitedPicture(picture, pseudonyms));
    let watch: Watch | null = null;
    const streams = teardown.part(
      "streams",
      await createHubStreams({
        pool,
        partitions,
        clock,
        directory,
        host,
        pseudonyms,
        anonymous,
        limits: () => running.current().limits,
        log: log("http"),
        keyHolds: (id) => access.holds(id, running.current().page),
        wake: () => watch?.wake(),
        isFailing: () => watch?.isFailing() ?? false,
      }),
    );
    const look = async () => {
      await access.renew();
      await directory.renew();
      await commands.look();
      await heldAnswers.look();
      await streams.look();
    };
    watch = teardown.part("watch", await createWatch(pool, look, log("store")));
    const connection = openPool(config.hub, 1, 0);
    const alerts = {
      connection,
      directory,
      config: running.current,
      environment,
      version: build.version,
      clock,
    };
    teardown.part("alerts", createHubAlerts({ ...alerts, timers: systemTimers, log: log("alerts") }));
    const worker = teardown.part("history", createHistoryWorker(reads, clock, log("store")));
    const requests = createRequestCounters();
    const lag = teardown.part("event loop", createLoopLag());
    const pushes = createPushMeter();
    const pushHealth = createPushHealth(log("store"));
    const takeDeps = { pool, partitions, clock, pseudonyms, keep, log: log("store") };
    const push = pushes.counted({
      take: (batch: Parameters<typeof takePush>[1], address: string) =>
        pushHealth.run(() => takePush(takeDeps, batch, address)),
      hold: heldAnswers.wait,
    });
    const schema = await schemaVersion(pool);
    const deps = hubDepsOf({
      clock,
      log,
      build,
      running,
      startedAt,
      begun,
      pool,
      ...access,
      reads,
      directory,
      commands,
      worker,
      host,
      lag,
      push,
      pushHealth,
      pseudonyms,
      anonymous,
      streams,
      schemaVersion: schema,
      installationId: installationId(secret),
      meters(emit) {
        requests.emit(emit);
        pushes.emit(emit);
      },
    });
    const app = createHubApp(deps, requests);
    const { host: name, port, tls } = config.http;
    const listening = listen(app, { host: name, port, tls: tls === null ? null : readTls(tls) });
    const [runtime] = (environment.RUNTIME_DIRECTORY || null)?.split(":") ?? [];
    const sockets = runtime === undefined ? null : listenOnSockets(app, runtime, log("http"));
    teardown.add("http", async () => {
      const closed = Promise.all([listening.stop(HTTP_GRACE_MS), sockets?.stop(HTTP_GRACE_MS)]);
      // New connections are no longer accepted; say goodbye on open streams.
      streams.close();
      await closed;
    });
    manager?.ready(() => `${listening.host}:${listening.port}, ${sitesHealth(directory).message}`);
    teardown.add("held answers", heldAnswers.stop);
    log("system").info("licmond hub started", {
      version: build.version,
      address: `${listening.host}:${listening.port}`,
      schema,
    });
    return { host: listening.host, port: listening.port, activeKeys: access.keys.count() };
  }

  return {
    log,
    reload() {
      manager?.reloading();
      const outcome = running.reload();
      manager?.reloaded();
      return outcome;
    },
    /** Throws if it cannot start, after stopping everything it started. */
    async start() {
      try {
        return await start();
      } catch (error) {
        manager?.failed(error);
        await teardown.run();
        throw error;
      }
    },
    stop() {
      ending ??= (async () => {
        running.end();
        manager?.stopping();
        log("system").info("licmond hub stops");
        await teardown.run();
      })();
      return ending;
    },
  };
}
