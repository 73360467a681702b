import type { Config } from "../config/config.ts";
import { createHostService, createLoopLag } from "../daemon/meters.ts";
import { createProcess, type Frame, type ProcessDeps, type Started } from "../daemon/process.ts";
import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import { DAY_MS, repeat } from "../domain/time/clock.ts";
import { createPseudonyms, limitedPicture } from "../http/anonymous/anonymous.ts";
import { createRequestCounters } from "../http/request-counters.ts";
import { perPicture } from "../http/snapshot.ts";
import { installationId } from "../store/secrets.ts";
import { createHubAccess } from "./access/access.ts";
import { createHubAlerts } from "./alerts/service.ts";
import { createHubApp } from "./app.ts";
import { createCommands } from "./commands/commands.ts";
import { createHeldAnswers } from "./commands/held-answers.ts";
import { openPool, type Pool } from "./database/connect.ts";
import { migrate, schemaVersion } from "./database/migrate.ts";
import { createPartitions } from "./database/partitions.ts";
import { createReads } from "./database/reads.ts";
import { createHistoryWorker } from "./history/port.ts";
import { hubDepsOf, sitesHealth } from "./http-deps.ts";
import { createDirectory } from "./lists/directory.ts";
import { createOwnLines } from "./logs.ts";
import { takePush } from "./push/take-push.ts";
import { createHubRetention } from "./retention.ts";
import { createPushWatch, type PushPort } from "./routes/push.ts";
import { hubSecret } from "./secret.ts";
import { createHubStreams } from "./streams/streams.ts";

/** Creates a hub. All state is in PostgreSQL, so several hubs can share it. */
export function createHub(config: Config, overrides: Partial<ProcessDeps> = {}) {
  return createProcess("licmond hub", config, overrides, start);
}

async function start(frame: Frame): Promise<Started> {
  const { environment, clock, timers, build, logging, log, running, teardown, part } = frame;
  const { hub } = running.current();
  if (hub === null) throw new Error('The config has no [hub]: add [hub] with database = "postgres://…".');
  const pool = openPool(hub);
  teardown.add("database", () => pool.close({ timeout: 2 }));
  await migrate(pool).catch((error: unknown) => {
    const { host } = new URL(hub.database);
    throw new Error(`Cannot use the hub's database at ${host}: ${messageOf(error)}.`);
  });
  const own = part("log", createOwnLines(pool, clock));
  teardown.add("own lines", logging.addSink(own.sink));
  const secret = await hubSecret(pool);
  const partitions = createPartitions(pool, () => Math.floor(clock.now() / DAY_MS));
  const keep = () => running.current().retention;
  part("retention", createHubRetention({ pool, partitions, clock, keep, log: log("store") }));
  const access = part("keys", await createHubAccess(pool, clock, log("store")));
  const reads = part("replica", createReads({ hub, pool, clock, log: log("store") }));
  await reads.look();
  const directory = createDirectory(pool, clock);
  await directory.renew();
  const commands = createCommands({ pool, directory, clock, timers });
  const heldAnswers = createHeldAnswers({ pool, clock, timers });
  const host = createHostService("/", clock);
  const pseudonyms = createPseudonyms(secret);
  const anonymous = perPicture((picture) => limitedPicture(picture, pseudonyms));
  let watch: Watch | null = null;
  const streams = part(
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
  watch = part("watch", await createWatch(pool, look, log("store")));
  const connection = openPool(hub, 1, 0);
  const alerts = {
    connection,
    directory,
    config: running.current,
    environment,
    version: build.version,
    clock,
  };
  part("alerts", createHubAlerts({ ...alerts, timers, log: log("alerts") }));
  const worker = part("history", createHistoryWorker(reads, clock, log("store")));
  const requests = createRequestCounters();
  const lag = part("event loop", createLoopLag());
  const pushes = createPushWatch(log("store"));
  const takeDeps = { pool, partitions, clock, pseudonyms, keep, log: log("store") };
  const push: PushPort = {
    take: (batch, address) => pushes.watched(batch, () => takePush(takeDeps, batch, address)),
    hold: heldAnswers.wait,
  };
  const schema = await schemaVersion(pool);
  const deps = hubDepsOf({
    ...frame,
    pool,
    ...access,
    reads,
    directory,
    commands,
    worker,
    host,
    lag,
    push,
    pushHealth: pushes.health,
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
  const listening = frame.listen(createHubApp(deps, requests), streams.close);
  const { host: name, port } = listening;
  teardown.add("held answers", heldAnswers.stop);
  const status = () => `${name}:${port}, ${sitesHealth(directory).message}`;
  frame.ready(listening, status, { schema }, () => {});
  return { host: name, port, activeKeys: access.keys.count() };
}

/** Interval of looks that need no notification, because a lost connection loses notifications. */
const LOOK_MS = 1_000;
/**
 * Minimum time between looks under load: 300 sites notify thirty times a second. An idle hub looks at once.
 */
const REST_MS = 100;
const SAVED_MS = 3_000;

type Watch = Awaited<ReturnType<typeof createWatch>>;

/**
 * Runs `look` after a hub has written something, and at least once a second. Logs the first failure and the
 * recovery.
 */
async function createWatch(pool: Pool, look: () => Promise<void>, log: Log) {
  let running: Promise<void> | null = null;
  let again = false;
  /** Earliest time of the next look, by `performance.now()`. */
  let next = 0;
  let failing = false;

  async function run(): Promise<void> {
    try {
      do {
        again = false;
        await look();
        const now = performance.now();
        next = Math.max(next, now - SAVED_MS) + REST_MS;
        if (next > now) await Bun.sleep(next - now);
      } while (again);
      if (failing) log.info("The hub's database is responding again");
      failing = false;
    } catch (error) {
      if (!failing) log.error("The hub's database is not responding", { error: messageOf(error) });
      failing = true;
    }
  }

  function wake(): void {
    again = true;
    running ??= run().finally(() => {
      running = null;
    });
  }

  const subscription = await pool.listen("licmond", wake, wake);
  const end = repeat(LOOK_MS, wake);
  return {
    wake,
    isFailing: () => failing,
    async stop() {
      end();
      await subscription.unlisten().catch(() => {});
      await running;
    },
  };
}
