import { type Daemon, type StartOptions, until } from "./harness.ts";
import { type FlexnetState, flexnetSays } from "./lmstat.ts";
import { createSite, type FakeTool, type Site } from "./site.ts";

/** An alert in the API. */
export interface AlertRow {
  readonly id: number;
  readonly rule: string;
  readonly severity: string;
  readonly feature: string | null;
  readonly message: string;
  readonly startedAt: string;
  readonly resolvedAt: string | null;
}

/** A FlexNet server `eda` that is polled on request, and its daemon. */
export interface WatchedSite extends Site {
  readonly lmutil: FakeTool;
  /** Writes the config with additional keys of the server. */
  write(toml: string, serverToml?: string): Promise<void>;
  /** `aheadMs` moves the daemon's clock; negative = behind. */
  watch(options?: Partial<StartOptions>, aheadMs?: number): Promise<Watching>;
}

export interface Watching extends AsyncDisposable {
  readonly daemon: Daemon;
  /** Key of an admin, valid for each daemon of the site. */
  readonly key: string;
  /** Sets the server's state and polls it `times` times. */
  poll(state: FlexnetState | string, times?: number): Promise<void>;
  /** Reloads the config, which also evaluates everything that depends on time. */
  reload(): Promise<void>;
  /** Returns the JSON of a GET; throws on an error. */
  ask<Body>(path: string): Promise<Body>;
  alerts(query: string): Promise<readonly AlertRow[]>;
  /** Returns firing alerts. The store is some milliseconds behind the engine. */
  firing(): Promise<readonly AlertRow[]>;
  post(path: string, body?: unknown): Promise<Response>;
}

/** The daemon polls once at startup; tests request the other polls. */
export async function createWatchedSite(toml = "", serverToml = ""): Promise<WatchedSite> {
  const site = await createSite();
  const lmutil = await site.tool("lmutil");
  let key: string | null = null;

  const watched: WatchedSite = {
    ...site,
    lmutil,
    write: (toml, serverToml = "") =>
      site.configure(`
[limits]
requests_per_minute = 1000000
burst = 1000000

[[servers]]
id = "eda"
manager = "flexnet"
address = "27000@127.0.0.1,27000@127.0.0.2,27000@127.0.0.3"
tool = "${lmutil.path}"
timezone = "UTC"
interval = "24h"
timeout = "5s"
${serverToml}

${toml}`),
    async watch(options, aheadMs = 0) {
      const startedAt = Date.now() + aheadMs;
      const daemon = await site.serve(options);
      key ??= await site.key("admin");
      const watching = watch(daemon, key, lmutil);
      await until("the first poll", async () => {
        const { servers } = await watching.ask<{ servers: { lastPollAt: string | null }[] }>(
          "/api/licenses/servers",
        );
        return servers.every(({ lastPollAt }) => Date.parse(lastPollAt ?? "") >= startedAt) || undefined;
      });
      return watching;
    },
  };
  await watched.write(toml, serverToml);
  return watched;
}

function watch(daemon: Daemon, key: string, lmutil: FakeTool): Watching {
  const answered = async (path: string, sent: Promise<Response>) => {
    const response = await sent;
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  const watching: Watching = {
    daemon,
    key,
    async poll(state, times = 1) {
      await lmutil.says(typeof state === "string" ? state : flexnetSays(state));
      for (let time = 0; time < times; time++) {
        // Two polls need different times.
        await Bun.sleep(2);
        await watching.post("/api/licenses/rescan");
      }
    },
    reload: async () => void (await answered("reload", watching.post("/api/reload"))),
    ask: async <Body>(path: string) => (await (await answered(path, daemon.get(path, key))).json()) as Body,
    alerts: async (query) =>
      (await watching.ask<{ alerts: AlertRow[] }>(`/api/licenses/alerts?limit=1000&${query}`)).alerts,
    firing: () =>
      until("what fires is stored", async () => {
        const listed = await watching.alerts("state=firing");
        const { alerts } = await watching.ask<{ alerts: Record<string, number> }>("/api/licenses/summary");
        const count = (severity: string) => listed.filter((alert) => alert.severity === severity).length;
        const same = Object.entries(alerts).every(([severity, number]) => count(severity) === number);
        return same ? listed : undefined;
      }),
    post: (path, body) => daemon.post(path, key, body),
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  };
  return watching;
}
