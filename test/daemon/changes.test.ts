import { expect, test } from "bun:test";
import type { Config } from "../../src/config/config.ts";
import { interpretConfig } from "../../src/config/load.ts";
import { configChanges, effectiveConfig } from "../../src/daemon/running-config.ts";

function config(toml: string): Config {
  const result = interpretConfig(toml, null, {});
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.config;
}

const server = (id: string, more = "") =>
  `[[servers]]\nid = "${id}"\nmanager = "rlm"\naddress = "5053@lic.example"\n${more}\n`;

test("added, removed and changed servers", () => {
  const before = config(server("a") + server("b") + server("c"));
  const after = config(server("a") + server("c", "enabled = false") + server("d"));
  expect(configChanges(before, after)).toEqual({
    added: ["d"],
    removed: ["b"],
    changed: ["c"],
    sections: [],
    needRestart: [],
  });
});

test("a new default interval changes the servers that follow it", () => {
  const before = config(server("a") + server("b", 'interval = "60s"'));
  const after = config(`[collector]\ninterval = "30s"\n${server("a")}${server("b", 'interval = "60s"')}`);
  expect(configChanges(before, after).changed).toEqual(["a"]);
});

test("a new certificate is used at once, disabling TLS needs a restart", () => {
  const tls = (name: string) => config(`[http]\ntls_cert = "/${name}.crt"\ntls_key = "/${name}.key"`);
  expect(configChanges(tls("a"), tls("b")).needRestart).toEqual([]);
  expect(effectiveConfig(tls("a"), tls("b")).http.tls).toEqual({ cert: "/b.crt", key: "/b.key" });
  expect(configChanges(tls("a"), config("")).needRestart).toEqual(["http.tls_cert", "http.tls_key"]);
  expect(effectiveConfig(tls("a"), config("")).http.tls).toEqual({ cert: "/a.crt", key: "/a.key" });
});

test("changed sections and settings that need a restart have their names in the file", () => {
  const before = config("");
  const after = config(`
    [http]
    port = 9000
    tls_cert = "/c"
    tls_key = "/k"
    cors_origins = ["https://a.example"]
    max_body_bytes = 2048
    [storage]
    directory = "/srv"
    [log]
    format = "json"
    level = "debug"
    [collector]
    concurrency = 4
    rescan_timeout = "9s"
    [limits]
    streams = 5
    [retention]
    logs = "1d"
    [alerts]
    usage_warning = 50
    [[maintenance]]
    start = 2026-01-31T22:00:00Z
    duration = "4h"
    [[notifications]]
    type = "webhook"
    url = "https://a.example"
    [execute]
    enabled = true
    [export.remote_write]
    url = "https://a.example"
  `);
  const { sections, needRestart } = configChanges(before, after);
  expect(needRestart).toEqual([
    ...["http.port", "http.tls_cert", "http.tls_key"],
    ...["storage.directory", "log.format", "collector.concurrency"],
  ]);
  expect([...sections].sort()).toEqual([
    ...["alerts", "collector", "execute", "export", "http", "limits"],
    ...["log", "maintenance", "notifications", "retention"],
  ]);
  expect(configChanges(after, after)).toMatchObject({ sections: [], needRestart: [] });
  expect(effectiveConfig(before, after)).toMatchObject({
    http: { port: 8080, tls: null, corsOrigins: ["https://a.example"], maxBodyBytes: 2048 },
    storage: { directory: "/var/lib/licmond" },
    log: { format: "auto", level: "debug" },
    collector: { concurrency: 8, rescanTimeoutMs: 9_000 },
    limits: { streams: 5 },
  });
});
