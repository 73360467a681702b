import { type Daemon, type StartOptions, until } from "./harness.ts";
import { type FlexnetState, flexnetSays } from "./lmstat.ts";
import { createSite, type FakeTool, type Site } from "./site.ts";

/** An alert as the API shows it. */
export interface AlertRow {
  readonly id: number;
  readonly rule: string;
  readonly severity: string;
  readonly feature: string | null;
  readonly message: string;
  readonly startedAt: string;
  readonly resolvedAt: string | null;
}

/** One FlexNet server `eda` that is polled when a test says so, and the daemon that watches it. */
export interface WatchedSite extends Site {
  readonly lmutil: FakeTool;
  /** Writes the config: the server with more of its keys, and what else is given. */
  write(toml: string, serverToml?: string): Promise<void>;
  /** `aheadMs`: by how much the clock of the daemon is ahead; negative = behind. */
  watch(options?: Partial<StartOptions>, aheadMs?: number): Promise<Watching>;
}

export interface Watching extends AsyncDisposable {
  readonly daemon: Daemon;
  /** Of an admin; the same for each daemon of the site. */
  readonly key: string;
  /** Lets the server be in a state and polls it, so many times. */
  poll(state: FlexnetState | string, times?: number): Promise<void>;
  /** Reads the config again, and looks at all that comes by time. */
  reload(): Promise<void>;
  /** The JSON of a GET; throws when it is an error. */
  ask<Body>(path: string): Promise<Body>;
  alerts(query: string): Promise<readonly AlertRow[]>;
  /** What fires, as the engine has it and the store shows it: the latter is some milliseconds behind. */
  firing(): Promise<readonly AlertRow[]>;
  post(path: string, body?: unknown): Promise<Response>;
}

/** The first poll comes by itself, the others when a test asks for them. */
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
        // A poll's time tells it from the one before.
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
