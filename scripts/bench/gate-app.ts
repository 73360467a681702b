import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/domain/time/clock.ts";
import { type App, createApp } from "../../src/http/app.ts";
import { createKeys } from "../../src/store/keys.ts";
import { openStore } from "../../src/store/open/open.ts";
import { createQuotas } from "../../src/store/quotas.ts";
import { createLogging } from "../../src/system/log.ts";
import { bench, feature, PLENTY, picture } from "../../test/http/make.ts";
import type { MemoryStreams } from "../../test/http/streams/rig.ts";

/** Features whose list takes 100 KB. */
const FEATURES = 198;
const FLUSH_MS = 1_000;

export const SNAPSHOT = {
  version: 1,
  servers: [
    picture("eda", { features: Array.from({ length: FEATURES }, (_, index) => feature(`feature_${index}`)) }),
  ],
};

/** The whole app over a real store of keys and quotas, behind the gate, with a log that drops what is below `info`. */
export function createGate(): { readonly app: App; readonly key: string; close(): void } {
  const directory = mkdtempSync(join(tmpdir(), "licmond-bench-"));
  const clock = systemClock;
  const log = createLogging({ level: "info", clock, sinks: [] }).logOf;
  const store = openStore({ directory, log: log("store") });
  const [keys, quotas] = [createKeys({ store, clock }), createQuotas({ store, clock })];
  const flush = setInterval(() => {
    keys.flush();
    quotas.flush();
  }, FLUSH_MS);
  const made = keys.create({
    name: "bench",
    role: "viewer",
    expiresAt: null,
    anonymize: false,

    dailyQuota: null,
    monthlyQuota: null,
    requestsPerMinute: null,
  });
  if (made.outcome !== "created") throw new Error(made.outcome);
  const base = bench();
  const streams = base.deps.streams as MemoryStreams;
  const settings = { ...base.deps.settings(), limits: { ...PLENTY, dailyQuota: 1e9, monthlyQuota: 1e9 } };
  const app = createApp({
    ...base.deps,

    clock,
    log,
    keys,
    quotas,
    settings: () => settings,
    live: { snapshot: () => SNAPSHOT },
  });
  return {
    app,
    key: made.presented,
    close() {
      clearInterval(flush);
      streams.close();
      store.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
