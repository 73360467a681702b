import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import type { LoadedConfig } from "../config/load.ts";
import type { Problem } from "../config/problem.ts";
import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import { type Clock, HOUR_MS, iso, repeat, systemClock, systemTimers } from "../domain/time/clock.ts";
import { listen, listenOnSockets } from "../http/listen.ts";
import { certificateWarning, readTls, type TlsFiles, type TlsMaterial } from "../http/tls.ts";
import { StoreError } from "../store/database/store-error.ts";
import { type BuildInfo, buildInfo } from "../system/build-info.ts";
import { type Logging, processLogging } from "../system/log.ts";
import { connectServiceManager, type ServiceManager } from "../system/service-manager.ts";
import { createRunningConfig, type Reloaded } from "./running-config.ts";

const HTTP_GRACE_MS = 4_000;

export interface Started {
  readonly host: string;
  /** Port that the process listens on, even if the config has 0. */
  readonly port: number;
  readonly activeKeys: number;
}

export interface ProcessDeps {
  readonly environment: Environment;
  readonly clock: Clock;
  readonly build: BuildInfo;
  readonly logging: Logging;
  readonly configFile: string | null;
  /** Loads the config again; null if the config does not come from a file. */
  readonly loadConfig: (() => LoadedConfig) | null;
}

interface Listening {
  readonly host: string;
  readonly port: number;
  /** URL, with brackets around an IPv6 address. */
  readonly address: string;
  readonly certificate: ReturnType<typeof createCertificate>;
}

export type Frame = ReturnType<typeof createFrame>;

/** Runs a daemon or a hub: `open` creates its parts in order, `stop` ends them in reverse. */
export function createProcess(
  name: string,
  config: Config,
  overrides: Partial<ProcessDeps>,
  open: (frame: Frame) => Promise<Started>,
) {
  const frame = createFrame(name, config, overrides);
  const { log, running, teardown } = frame;
  let ending: Promise<void> | null = null;

  async function start(): Promise<Started> {
    frame.manager = await connectServiceManager(frame.environment, log("system"));
    if (frame.manager !== null) frame.part("service manager", frame.manager);
    return open(frame);
  }

  return {
    log,
    /** Reloads the config and TLS files. Keeps the running config if the new one is invalid. */
    reload: () => frame.reload(),
    /**
     * Throws StoreError, or an Error with a fix, if the process cannot start. Leaves nothing behind in that
     * case.
     */
    start: () =>
      startDespiteDamage(start, async (reason) => {
        frame.manager?.failed(reason);
        await teardown.run();
      }),
    /** Stops everything in order without losing published events. A second call waits for the first. */
    stop() {
      ending ??= (async () => {
        running.end();
        frame.beforeEnd();
        frame.manager?.stopping();
        log("system").info(`${name} is stopping`);
        await teardown.run();
      })();
      return ending;
    },
  };
}

function createFrame(name: string, config: Config, overrides: Partial<ProcessDeps>) {
  const environment = overrides.environment ?? process.env;
  const clock = overrides.clock ?? systemClock;
  const build = overrides.build ?? buildInfo();
  const logging = overrides.logging ?? processLogging(config.log, environment);
  const log = logging.logOf;
  const teardown = createTeardown(log("system"));
  const { configFile: file = null, loadConfig: load = null } = overrides;
  const running = createRunningConfig({ config, clock, log, file, load });
  const [startedAt, begun] = [clock.now(), performance.now()];

  const frame = {
    environment,
    clock,
    timers: systemTimers,
    build,
    logging,
    log,
    running,
    startedAt,
    /** Start time by `performance.now()`, which is independent of clock changes. */
    begun,
    teardown,
    part: teardown.part,
    /** Null unless a service manager started the process. */
    manager: null as ServiceManager | null,
    /** Called first when the process is asked to stop. */
    beforeEnd: () => {},
    reload(print?: (problem: Problem) => string): Reloaded {
      frame.manager?.reloading();
      try {
        return running.reload(print);
      } finally {
        frame.manager?.reloaded();
      }
    },
    /** Opens the port and the Unix sockets. `endStreams` says goodbye on open streams. */
    listen(app: Parameters<typeof listen>[0], endStreams: () => void): Listening {
      const serve = (material: TlsMaterial) => listening.renew(material);
      const certificate = createCertificate(config.http.tls, { clock, log: log("http"), serve });
      teardown.part("certificate", certificate);
      const { host, port } = config.http;
      const listening = listen(app, { host, port, tls: certificate.current() });
      const [directory] = (environment.RUNTIME_DIRECTORY || null)?.split(":") ?? [];
      const sockets = directory === undefined ? null : listenOnSockets(app, directory, log("http"));
      teardown.add("http", async () => {
        const closed = Promise.all([listening.stop(HTTP_GRACE_MS), sockets?.stop(HTTP_GRACE_MS)]);
        endStreams();
        await closed;
      });
      const scheme = config.http.tls === null ? "http" : "https";
      const address = `${scheme}://${host.includes(":") ? `[${host}]` : host}:${listening.port}`;
      return { host, port: listening.port, address, certificate };
    },
    /** Accepts reloads from now on and reports that the process is ready. `apply` gives the parts a new config. */
    ready(
      { address, certificate }: Listening,
      status: () => string,
      fields: Parameters<Log["info"]>[1],
      apply: (next: Config) => void,
    ): void {
      running.connect((next, afterRestart) => {
        const takeUpCertificate = certificate.prepare(next.http.tls, afterRestart.http.tls);
        return () => {
          logging.setLevel(next.log.level);
          takeUpCertificate();
          apply(next);
        };
      });
      frame.manager?.ready(status);
      log("system").info(`${name} started`, { version: build.version, address, ...fields });
    },
  };
  return frame;
}

/**
 * Maximum duration of a step of the shutdown, so that all steps finish before the service manager kills the
 * process.
 */
const STEP_MS = 6_000;

export function createTeardown(log: Pick<Log, "error">, stepMs: number = STEP_MS) {
  const steps: { readonly what: string; readonly undo: () => void | Promise<void> }[] = [];
  return {
    add: (what: string, undo: () => void | Promise<void>) => void steps.push({ what, undo }),
    part<T extends { stop(): void | Promise<void> }>(what: string, part: T): T {
      steps.push({ what, undo: () => part.stop() });
      return part;
    },
    /** Stops everything in reverse order. Logs steps that fail or hang, and continues. */
    async run(): Promise<void> {
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
        const { promise: late, reject } = Promise.withResolvers<never>();
        const timer = setTimeout(() => reject(new Error(`timed out after ${stepMs} ms`)), stepMs);
        try {
          await Promise.race([step.undo(), late]);
        } catch (error) {
          log.error("Failed to stop a part", { part: step.what, error: messageOf(error) });
        } finally {
          clearTimeout(timer);
        }
      }
    },
  };
}

/**
 * Starts something on a store, and retries once if the store turns out to be damaged. The failed query
 * records the damage, so opening the store again moves the damaged file aside. `undo` gets the reason and
 * must revert everything that `start` began.
 */
export async function startDespiteDamage<T>(
  start: () => Promise<T>,
  undo: (reason: unknown) => Promise<void>,
): Promise<T> {
  for (let isAgain = false; ; isAgain = true) {
    try {
      return await start();
    } catch (error) {
      await undo(error);
      if (isAgain || !(error instanceof StoreError) || error.code !== "CORRUPT") throw error;
    }
  }
}

const EXPIRY_CHECK_MS = 12 * HOUR_MS;

interface CertificateDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly serve: (material: TlsMaterial) => void;
}

/** Manages the TLS certificate and warns before it expires. Throws an Error with the file name if it is invalid. */
function createCertificate(files: TlsFiles | null, { clock, log, serve }: CertificateDeps) {
  let served = files === null ? null : readTls(files);
  const warn = () => {
    const warning = served === null ? null : certificateWarning(served, clock.now());
    if (warning !== null) log.warn("TLS certificate problem", { why: warning });
  };
  warn();
  return {
    current: (): TlsMaterial | null => served,
    /**
     * Reads the files. The returned function uses them if the certificate has changed. `afterRestart` are
     * the files that a restart would use. They must be valid too, because otherwise the next start would
     * fail.
     */
    prepare(next: TlsFiles | null, afterRestart: TlsFiles | null): () => void {
      const material = next === null ? null : readTls(next);
      if (next === null && afterRestart !== null) readTls(afterRestart);
      return () => {
        if (material === null) return;
        if ((["cert", "key", "clientCa"] as const).every((of) => material[of] === served?.[of])) return;
        serve(material);
        served = material;
        warn();
        log.info("Using a new TLS certificate for new connections", { validUntil: iso(material.validTo) });
      };
    },
    stop: files === null ? () => {} : repeat(EXPIRY_CHECK_MS, warn),
  };
}
