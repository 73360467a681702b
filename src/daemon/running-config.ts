import type { Config } from "../config/config.ts";
import type { LoadedConfig } from "../config/load.ts";
import { type Problem, printProblem } from "../config/problem.ts";
import { messageOf } from "../domain/error-code.ts";
import type { LogOf } from "../domain/log.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { DaemonStatus } from "../http/deps.ts";

export interface Reloaded {
  readonly outcome: "applied" | "refused";
  /** One line per problem; empty after success. */
  readonly problems: readonly string[];
  readonly needRestart: readonly string[];
}

/**
 * Prepares the parts of the daemon for a new config. The returned function applies the config.
 * `afterRestart` is the config of the file, including settings that need a restart. Throws an Error and
 * changes nothing if the config cannot be applied.
 */
type Prepare = (next: Config, afterRestart: Config) => () => void;

interface RunningConfigDeps {
  readonly config: Config;
  readonly file: string | null;
  readonly load: (() => LoadedConfig) | null;
  readonly clock: Clock;
  readonly log: LogOf;
}

const NOT_TAKEN_UP = "http.tls_cert, http.tls_key: invalid files; see the log";

export type RunningConfig = ReturnType<typeof createRunningConfig>;

export function createRunningConfig({ config, file, load, clock, log }: RunningConfigDeps) {
  let running = config;
  let runningFile = file;
  let last: DaemonStatus["lastReload"] = null;
  let prepare: Prepare = () => () => {};
  let ended = false;

  function reload(print: (problem: Problem) => string = printProblem): Reloaded {
    const at = clock.now();
    const refuse = (lines: readonly string[], problems: readonly string[] = lines): Reloaded => {
      for (const problem of lines) log("config").error("Config problem", { problem });
      log("config").error("Invalid configuration; keeping the current one", { problems: lines.length });
      last = { at, outcome: "refused", message: problems.join("\n") };
      return { outcome: "refused", problems, needRestart: [] };
    };
    if (ended) return refuse(["licmond is stopping"]);
    const loaded = load?.() ?? null;
    if (loaded === null) {
      log("config").info("No config file to reload");
      return { outcome: "applied", problems: [], needRestart: [] };
    }
    for (const warning of loaded.warnings) log("config").warn("Config warning", { warning });
    if (!loaded.ok) return refuse(loaded.problems.map(printProblem), loaded.problems.map(print));
    // Refuse a missing file: an editor may be replacing it, and the defaults would drop every server.
    if (runningFile !== null && loaded.file === null)
      return refuse([`${runningFile}: no such file`], ["the config file no longer exists"]);
    const changes = configChanges(running, loaded.config);
    const next = effectiveConfig(running, loaded.config);
    let takeUp: () => void;
    try {
      takeUp = prepare(next, loaded.config);
    } catch (error) {
      // HTTP answers contain no paths of the host.
      return refuse([messageOf(error)], [NOT_TAKEN_UP]);
    }
    running = next;
    runningFile = loaded.file;
    takeUp();
    const { added, removed, changed, sections, needRestart } = changes;
    log("config").info("Configuration reloaded", {
      added: list(added),
      removed: list(removed),
      changed: list(changed),
      settings: list(sections),
    });
    const message = needRestart.length === 0 ? null : `Restart required for ${needRestart.join(", ")}`;
    if (message !== null) log("config").warn("Some settings need a restart", { settings: list(needRestart) });
    last = { at, outcome: "applied", message };
    return { outcome: "applied", problems: [], needRestart };
  }

  return {
    current: () => running,
    file: () => runningFile,
    lastReload: () => last,
    connect(parts: Prepare) {
      prepare = parts;
    },
    reload,
    end() {
      ended = true;
    },
  };
}

function list(words: readonly string[]): string | undefined {
  return words.length === 0 ? undefined : words.join(", ");
}

export function configChanges(running: Config, next: Config) {
  const before = new Map(running.servers.map((server) => [server.id, server]));
  const after = new Map(next.servers.map((server) => [server.id, server]));
  const now = effectiveConfig(running, next);
  return {
    added: [...after.keys()].filter((id) => !before.has(id)),
    removed: [...before.keys()].filter((id) => !after.has(id)),
    changed: differing(Object.fromEntries(before), Object.fromEntries(after)).filter((id) => after.has(id)),
    /** Changed sections of the file that take effect at once, except servers. */
    sections: differing({ ...running, servers: null }, { ...now, servers: null }).map((section) =>
      section === "remoteWrite" ? "export" : section,
    ),
    needRestart: (["http", "storage", "log", "collector"] as const).flatMap((section) =>
      differing(now[section], next[section]).flatMap((key) =>
        key === "tls" ? ["http.tls_cert", "http.tls_key"] : [`${section}.${key}`],
      ),
    ),
  };
}

/** Returns the new config with the running values of settings that need a restart. */
export function effectiveConfig(running: Config, next: Config): Config {
  const { host, port } = running.http;
  // A certificate can be replaced at runtime; enabling or disabling TLS needs a restart.
  const tls = running.http.tls === null || next.http.tls === null ? running.http.tls : next.http.tls;
  return {
    ...next,
    http: { ...next.http, host, port, tls },
    storage: { ...next.storage, directory: running.storage.directory },
    log: { ...next.log, format: running.log.format },
    collector: { ...next.collector, concurrency: running.collector.concurrency },
  };
}

function differing(before: object, after: object): string[] {
  const others = new Map(Object.entries(after));
  return Object.entries(before).flatMap(([key, value]) =>
    JSON.stringify(value) === JSON.stringify(others.get(key)) ? [] : [key],
  );
}
