import { type Config, guardedFiles } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import { loadConfig } from "../config/load.ts";
import type { Started } from "../daemon.ts";
import type { LogOf } from "../domain/log.ts";
import { daemonGroups, exposureOf } from "../system/secret-file.ts";
import { command } from "./command.ts";
import { EXIT_FAILURE, listenToSignals, readConfig } from "./io.ts";

/** A daemon that has not ended by then is ended. */
const STOP_DEADLINE_MS = 9_500;

/** `licmond serve`: the daemon, in the foreground, until a signal ends it. */
export const serve = command({
  async run({ config: named }, io) {
    const { config, file } = await readConfig(named, io);
    const { createDaemon } = await import("../daemon.ts");
    const daemon = createDaemon(config, {
      environment: io.env,
      build: io.build,
      configFile: file,
      loadConfig: () => loadConfig(named, io.env),
    });
    const ended = Promise.withResolvers<string>();
    const started = Promise.withResolvers<void>();
    const quit = listenToSignals({
      stop: ended.resolve,
      exitNow: () => process.exit(EXIT_FAILURE),
      // While it starts there is nothing yet that another config could be given to.
      reload: () => void started.promise.then(() => daemon.reload()),
    });
    try {
      const listening = await daemon.start();
      started.resolve();
      startHints(daemon.log, listening, config, file, io.env);
      // Idle memory is 16.0 MB with it and 19.0 MB without: what only the start needed is let go. Bun calls it
      // deprecated and has nothing in its place: a full collection alone frees no code.
      Bun.shrink();
      const signal = await ended.promise;
      daemon.log("system").info("A signal asks licmond to end", { signal });
      const deadline = setTimeout(() => {
        daemon.log("system").error("licmond did not end in time and is ended");
        process.exit(EXIT_FAILURE);
      }, STOP_DEADLINE_MS);
      await daemon.stop();
      clearTimeout(deadline);
    } finally {
      quit();
    }
  },
});

/** What a daemon that has just started prints for its administrator: what to do next, and what to mind. */
export function startHints(
  log: LogOf,
  { host, port, activeKeys }: Started,
  config: Config,
  file: string | null,
  env: Environment,
): void {
  if (file === null)
    log("config").warn(
      "No config file: no server is watched. `licmond init` writes one to fill in, `licmond demo` shows licmond on simulated servers",
    );
  else if (config.servers.length === 0)
    log("config").warn("The config names no server: nothing is watched", { config: file });
  const groups = daemonGroups();
  const exposed = "Others can get at a file that should be the daemon's alone";
  for (const { setting, file: path, kind } of guardedFiles(config, file, env)) {
    const exposure = exposureOf(path, kind, groups);
    if (exposure !== null) log("config").warn(exposed, { setting, ...exposure });
  }
  if (activeKeys === 0)
    log("auth").warn("There is no API key yet: `licmond keys create --name admin --role admin` makes one");
  if (!config.http.isHostSet) log("http").warn(`Only this host can connect: ${HOST_UNSET}`);
  if (config.http.tls === null && !isLoopback(host))
    log("http").warn(
      "Plain HTTP beyond loopback: keys travel in clear. Set http.tls_cert and http.tls_key, or put a TLS proxy in front",
      { address: `${host}:${port}` },
    );
}

export const HOST_UNSET = 'http.host is not set; host = "0.0.0.0" lets others connect';

/** True of a host that only this one reaches; of a URL's, too. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127(\.\d+){3}$/.test(host);
}

/** How a program on this host names the address on which a daemon listens, which may mean all of them; for a URL. */
export function reachableHost(host: string): string {
  if (host === "0.0.0.0" || host === "") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
