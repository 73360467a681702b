import { apiDocument } from "../http/app.ts";
import type { HttpDeps } from "../http/deps.ts";
import type { BuildInfo } from "../system/build-info.ts";

/** The document as the daemon serves it: made of the same routes, with nothing behind them. */
export async function printOpenapi(build: BuildInfo): Promise<string> {
  return `${JSON.stringify(await apiDocument(nothingBehind(build)), null, 2)}\n`;
}

/** Routes are declared with these, and none is called. */
function nothingBehind(build: BuildInfo): HttpDeps {
  const none = (): never => {
    throw new Error("no daemon runs");
  };
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  return {
    clock: { now: Date.now },
    log: () => quiet,
    build,
    settings: none,
    live: { snapshot: none },
    execute: { enabled: false, find: none, plan: none, run: none },
    pseudonyms: { user: none, host: none, session: none },
    collector: { rescan: none, status: none, raw: none },
    keys: { verify: none, touch: none, count: none, create: none, list: none, get: none, revoke: none },
    quotas: { take: none },
    health: none,
    host: { info: none, interfaces: none, sample: none },
    streams: {
      hub: {
        enter: none,
        goLive: none,
        regroup: none,
        leave: none,
        wantSample: none,
        lastPublished: none,
        counts: none,
        ofKey: none,
        close: none,
        teller: { stored: none, published: none },
      },
      history: { page: none, oldestId: none, deletedThrough: none, holesAbove: none },
      samples: { fresh: none, since: none },
      limits: none,
    },
    alerts: { counts: none, acknowledge: none, silence: none },
    denials: { logging: none },
    logs: { clear: none },
    history: { query: none },
    daemon: { status: none, counters: none, reload: none },
    meters: none,
  };
}
