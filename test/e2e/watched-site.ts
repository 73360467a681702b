import { type Daemon, type StartOptions, until } from "./harness.ts";
import { type FlexnetState, flexnetSays } from "./lmstat.ts";
import { createSite, type FakeTool, NO_LIMITS } from "./site.ts";

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

export type WatchedSite = Awaited<ReturnType<typeof createWatchedSite>>;
export type Watching = ReturnType<typeof watch>;

/** Creates a site with a FlexNet server `eda`. The daemon polls once at startup; tests request the other polls. */
export async function createWatchedSite(toml = "", serverToml = "") {
  const site = await createSite();
  const lmutil = await site.tool("lmutil");
  let key: string | null = null;
  /** Writes the config with additional keys of the server. */
  const write = (toml: string, serverToml = "") =>
    site.configure(`${NO_LIMITS}
[[servers]]
id = "eda"
manager = "flexnet"
address = "27000@127.0.0.1,27000@127.0.0.2,27000@127.0.0.3"
tool = "${lmutil.path}"
timezone = "UTC"
interval = "24h"
timeout = "5s"
${serverToml}

${toml}`);
  await write(toml, serverToml);
  return {
    ...site,
    lmutil,
    write,
    /** Starts the daemon. `aheadMs` is the offset of its clock; negative = behind. */
    async watch(options?: Partial<StartOptions>, aheadMs = 0) {
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
}

function watch(daemon: Daemon, key: string, lmutil: FakeTool) {
  const answered = async (path: string, sent: Promise<Response>) => {
    const response = await sent;
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  /** Returns the JSON of a GET; throws on an error. */
  const ask = async <Body>(path: string) =>
    (await (await answered(path, daemon.get(path, key))).json()) as Body;
  const post = (path: string, body?: unknown) => daemon.post(path, key, body);
  const alerts = async (query: string) =>
    (await ask<{ alerts: readonly AlertRow[] }>(`/api/licenses/alerts?limit=1000&${query}`)).alerts;
  return {
    daemon,
    /** Key of an admin, valid for each daemon of the site. */
    key,
    /** Sets the server's state and polls it `times` times. */
    async poll(state: FlexnetState | string, times = 1) {
      await lmutil.says(typeof state === "string" ? state : flexnetSays(state));
      for (let time = 0; time < times; time++) {
        // Two polls need different times.
        await Bun.sleep(2);
        await post("/api/licenses/rescan");
      }
    },
    /** Reloads the config, which also evaluates everything that depends on time. */
    reload: async () => void (await answered("reload", post("/api/reload"))),
    ask,
    alerts,
    /** Returns the firing alerts, after waiting for the store, which is some milliseconds behind the engine. */
    firing: () =>
      until("firing alerts are stored", async () => {
        const listed = await alerts("state=firing");
        const { alerts: counts } = await ask<{ alerts: Record<string, number> }>("/api/licenses/summary");
        const count = (severity: string) => listed.filter((alert) => alert.severity === severity).length;
        return Object.entries(counts).every(([severity, number]) => count(severity) === number)
          ? listed
          : undefined;
      }),
    post,
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  };
}
