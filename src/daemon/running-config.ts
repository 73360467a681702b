import type { Config } from "../config/config.ts";
import type { LoadedConfig } from "../config/load.ts";
import { type Problem, printProblem } from "../config/problem.ts";
import { messageOf } from "../domain/error-code.ts";
import type { LogOf } from "../domain/log.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { DaemonStatus } from "../http/deps.ts";

export interface Reloaded {
  readonly outcome: "applied" | "refused";
  /** One line each; empty when applied. */
  readonly problems: readonly string[];
  /** Settings that differ and hold only after a restart. */
  readonly needRestart: readonly string[];
}

/**
 * Looks at the next config for the parts that hold something of it, and answers what has them take it up. `afterRestart`
 * is the file's own, with what only a restart changes. Throws an Error that says why it cannot be taken: nothing has
 * changed then.
 */
type Prepare = (next: Config, afterRestart: Config) => () => void;

interface RunningConfigDeps {
  readonly config: Config;
  readonly file: string | null;
  /** Null = it comes from no file and stays. */
  readonly load: (() => LoadedConfig) | null;
  readonly clock: Clock;
  readonly log: LogOf;
}

const NOT_TAKEN_UP = "http.tls_cert, http.tls_key: the files cannot be used; the log says why";

export type RunningConfig = ReturnType<typeof createRunningConfig>;

/** The config that holds now. */
export function createRunningConfig({ config, file, load, clock, log }: RunningConfigDeps) {
  let running = config;
  let runningFile = file;
  let last: DaemonStatus["lastReload"] = null;
  let prepare: Prepare = () => () => {};
  let ended = false;

  /** Reads the file again. A bad one is refused, and the running config stays. */
  function reload(print: (problem: Problem) => string = printProblem): Reloaded {
    const at = clock.now();
    const refuse = (lines: readonly string[], problems: readonly string[] = lines): Reloaded => {
      for (const problem of lines) log("config").error("Config problem", { problem });
      log("config").error("The config was refused, the running one stays", { problems: lines.length });
      last = { at, outcome: "refused", message: problems.join("\n") };
      return { outcome: "refused", problems, needRestart: [] };
    };
    if (ended) return refuse(["licmond is ending"]);
    const loaded = load?.() ?? null;
    if (loaded === null) {
      log("config").info("There is no config file to read again");
      return { outcome: "applied", problems: [], needRestart: [] };
    }
    for (const warning of loaded.warnings) log("config").warn("Config warning", { warning });
    if (!loaded.ok) return refuse(loaded.problems.map(printProblem), loaded.problems.map(print));
    // An editor may be at work on it; the defaults in its place would drop every server.
    if (runningFile !== null && loaded.file === null)
      return refuse([`${runningFile}: there is no such file any more`], ["there is no config file any more"]);
    const changes = configChanges(running, loaded.config);
    const next = effectiveConfig(running, loaded.config);
    let takeUp: () => void;
    try {
      takeUp = prepare(next, loaded.config);
    } catch (error) {
      // What is answered over HTTP names no paths of the host.
      return refuse([messageOf(error)], [NOT_TAKEN_UP]);
    }
    running = next;
    runningFile = loaded.file;
    takeUp();
    const { added, removed, changed, sections, needRestart } = changes;
    log("config").info("The config was read again", {
      added: list(added),
      removed: list(removed),
      changed: list(changed),
      settings: list(sections),
    });
    const message = needRestart.length === 0 ? null : `A restart is needed for ${needRestart.join(", ")}`;
    if (message !== null) log("config").warn("Some settings need a restart", { settings: list(needRestart) });
    last = { at, outcome: "applied", message };
    return { outcome: "applied", problems: [], needRestart };
  }

  return {
    current: () => running,
    /** Path of its file; null when the defaults run. */
    file: () => runningFile,
    lastReload: () => last,
    /** Names the part that takes up what a reload brings. */
    connect(parts: Prepare) {
      prepare = parts;
    },
    reload,
    /** From now on each reload is refused. */
    end() {
      ended = true;
    },
  };
}

function list(words: readonly string[]): string | undefined {
  return words.length === 0 ? undefined : words.join(", ");
}

/** Compares the running config with a new one. */
export function configChanges(running: Config, next: Config) {
  const before = new Map(running.servers.map((server) => [server.id, server]));
  const after = new Map(next.servers.map((server) => [server.id, server]));
  const now = effectiveConfig(running, next);
  return {
    added: [...after.keys()].filter((id) => !before.has(id)),
    removed: [...before.keys()].filter((id) => !after.has(id)),
    changed: differing(Object.fromEntries(before), Object.fromEntries(after)).filter((id) => after.has(id)),
    /** Sections of the file, but for the servers', in which something differs that takes effect at once. */
    sections: differing({ ...running, servers: null }, { ...now, servers: null }).map((section) =>
      section === "remoteWrite" ? "export" : section,
    ),
    /** Settings that differ and hold only after a restart. */
    needRestart: (["http", "storage", "log", "collector"] as const).flatMap((section) =>
      differing(now[section], next[section]).flatMap((key) =>
        key === "tls" ? ["http.tls_cert", "http.tls_key"] : [`${section}.${key}`],
      ),
    ),
  };
}

/** The new config, with those of the running one's settings that only a restart can change. */
export function effectiveConfig(running: Config, next: Config): Config {
  const { host, port } = running.http;
  // Another certificate is taken while running; to begin or to end with TLS is another kind of port.
  const tls = running.http.tls === null || next.http.tls === null ? running.http.tls : next.http.tls;
  return {
    ...next,
    http: { ...next.http, host, port, tls },
    storage: { ...next.storage, directory: running.storage.directory },
    log: { ...next.log, format: running.log.format },
    collector: { ...next.collector, concurrency: running.collector.concurrency },
  };
}

/** Keys of the first whose values are others in the second. */
function differing(before: object, after: object): string[] {
  const others = new Map(Object.entries(after));
  return Object.entries(before).flatMap(([key, value]) =>
    JSON.stringify(value) === JSON.stringify(others.get(key)) ? [] : [key],
  );
}
