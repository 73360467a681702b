import { type Daemon, type StartOptions, until } from "./harness.ts";
import { type FlexnetState, flexnetSays } from "./lmstat.ts";
import { createSite, type FakeTool, type Site } from "./site.ts";

/** An alert as the API shows it. */
export interface AlertRow {
  readonly id: number;
  readonly rule: string;
  readonly severity: string;
  readonly state: string;
  readonly server: string | null;
  readonly feature: string | null;
  readonly message: string;
  readonly startedAt: string;
  readonly resolvedAt: string | null;
  readonly acknowledged: boolean;
  readonly acknowledgedBy: string | null;
  readonly comment: string | null;
  readonly silencedUntil: string | null;
}

/** One FlexNet server `eda` that is polled when a test says so, and the daemon that watches it. */
export interface AlertSite extends Site {
  readonly lmutil: FakeTool;
  /** Writes the config: the server with more of its keys, and what else is given. */
  write(toml: string, serverToml?: string): Promise<void>;
  watch(options?: Partial<StartOptions>): Promise<Watching>;
}

export interface Watching extends AsyncDisposable {
  readonly daemon: Daemon;
  readonly key: string;
  /** Lets the server be in a state and polls it, so many times. */
  poll(state: FlexnetState | string, times?: number): Promise<void>;
  /** Reads the config again, and looks at all that comes by time. */
  reload(): Promise<void>;
  alerts(query: string): Promise<readonly AlertRow[]>;
  /** What fires, as the engine has it and the store shows it: the latter is some milliseconds behind. */
  firing(): Promise<readonly AlertRow[]>;
  /** Rules that fire, by name, once each. */
  firingRules(): Promise<readonly string[]>;
  post(path: string, body?: object): Promise<Response>;
}

export async function createAlertSite(): Promise<AlertSite> {
  const site = await createSite();
  const lmutil = await site.tool("lmutil");
  let key: string | null = null;

  return {
    ...site,
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
    lmutil,
    // The first poll comes by itself, the others when a test asks for them.
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
    async watch(options) {
      const startedAt = Date.now();
      const daemon = await site.serve(options);
      key ??= await site.key("admin");
      const own = key;
      const ask = async <T>(path: string): Promise<T> => {
        const response = await daemon.get(path, own);
        if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
        return (await response.json()) as T;
      };
      const watching: Watching = {
        daemon,
        key: own,
        async poll(state, times = 1) {
          const text = typeof state === "string" ? state : flexnetSays(state);
          await lmutil.says(text);
          for (let time = 0; time < times; time++) {
            // A poll's time tells it from the one before.
            await Bun.sleep(2);
            await watching.post("/api/licenses/rescan", {});
          }
        },
        async reload() {
          const response = await watching.post("/api/reload");
          if (!response.ok) throw new Error(`reload: ${response.status} ${await response.text()}`);
        },
        alerts: async (query) =>
          (await ask<{ alerts: AlertRow[] }>(`/api/licenses/alerts?limit=1000&${query}`)).alerts,
        firing: () =>
          until("what fires is stored", async () => {
            const listed = await watching.alerts("state=firing");
            const { alerts } = await ask<{ alerts: Record<string, number> }>("/api/licenses/summary");
            const counted = Object.entries(alerts);
            const count = (severity: string) => listed.filter((alert) => alert.severity === severity).length;
            const same = counted.every(([severity, number]) => count(severity) === number);
            return same ? listed : undefined;
          }),
        firingRules: async () => [...new Set((await watching.firing()).map(({ rule }) => rule))].sort(),
        post: (path, body) =>
          daemon.get(path, own, {
            method: "POST",
            ...(body !== undefined && {
              headers: { "Content-Type": "application/json" },
              body: JSON.stringify(body),
            }),
          }),
        [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
      };
      await until("the first poll", async () => {
        const { servers } = await ask<{ servers: { lastPollAt: string | null }[] }>("/api/licenses/servers");
        return servers.every(({ lastPollAt }) => Date.parse(lastPollAt ?? "") >= startedAt) || undefined;
      });
      return watching;
    },
  };
}
