import type { Config } from "../config/config.ts";

/** What a reload means. */
export interface ConfigChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
  /** Sections of the file, but for the servers', in which something differs that takes effect at once. */
  readonly sections: readonly string[];
  /** Settings that differ and hold only after a restart. */
  readonly needRestart: readonly string[];
}

/** Settings read once, at the start. */
const AT_START = {
  http: ["host", "port"],
  storage: ["directory"],
  log: ["format"],
  collector: ["concurrency"],
} as const satisfies { [Section in keyof Config]?: readonly (keyof Config[Section])[] };

/** Compares the running config with a new one. */
export function configChanges(running: Config, next: Config): ConfigChanges {
  const before = new Map(running.servers.map((server) => [server.id, JSON.stringify(server)]));
  const after = new Map(next.servers.map((server) => [server.id, JSON.stringify(server)]));
  return {
    added: [...after.keys()].filter((id) => !before.has(id)),
    removed: [...before.keys()].filter((id) => !after.has(id)),
    changed: [...after].filter(([id, text]) => before.has(id) && before.get(id) !== text).map(([id]) => id),
    sections: differingSections(running, effectiveConfig(running, next)),
    needRestart: [
      ...differing("http", AT_START.http, running.http, next.http),
      // Another certificate is taken while running; to begin or to end with TLS is another kind of port.
      ...((running.http.tls === null) === (next.http.tls === null) ? [] : ["http.tls_cert", "http.tls_key"]),
      ...differing("storage", AT_START.storage, running.storage, next.storage),
      ...differing("log", AT_START.log, running.log, next.log),
      ...differing("collector", AT_START.collector, running.collector, next.collector),
    ],
  };
}

/** The new config, with those of the running one's settings that only a restart can change. */
export function effectiveConfig(running: Config, next: Config): Config {
  return Object.freeze({
    ...next,
    http: Object.freeze({
      ...next.http,
      host: running.http.host,
      port: running.http.port,
      tls: running.http.tls === null || next.http.tls === null ? running.http.tls : next.http.tls,
    }),
    storage: running.storage,
    log: Object.freeze({ ...next.log, format: running.log.format }),
    collector: Object.freeze({ ...next.collector, concurrency: running.collector.concurrency }),
  });
}

/** Sections by the names that they have in the file. */
function differingSections(running: Config, next: Config): string[] {
  const sections = Object.keys(next).filter(
    (key): key is keyof Config => key in running && key !== "servers",
  );
  return sections
    .filter((key) => JSON.stringify(running[key]) !== JSON.stringify(next[key]))
    .map((key) => (key === "remoteWrite" ? "export" : key));
}

function differing<Section extends object>(
  section: string,
  keys: readonly (keyof Section & string)[],
  running: Section,
  next: Section,
): string[] {
  return keys
    .filter((key) => JSON.stringify(running[key]) !== JSON.stringify(next[key]))
    .map((key) => `${section}.${key}`);
}
