import { expect, test } from "bun:test";
import { type Daemon, until } from "./harness.ts";
import { lmstat, REFUSED } from "./lmstat.ts";
import { createSite, type Site } from "./site.ts";

interface Line {
  readonly level: string;
  readonly source: string;
  readonly message: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

async function linesOf(daemon: Daemon, key: string, query = ""): Promise<readonly Line[]> {
  const response = await daemon.get(`/api/logs/recent?lines=1000${query}`, key);
  const { logs } = (await response.json()) as { logs: readonly Line[] };
  return logs;
}

const shown = (lines: readonly Line[]) => lines.map(({ level, message }) => `${level} ${message}`);

async function poll(daemon: Daemon, key: string): Promise<void> {
  await (await daemon.get("/api/licenses/rescan", key, { method: "POST" })).text();
}

async function withServer(
  work: (site: Site, key: string, daemon: Daemon, say: (text: string) => Promise<void>) => Promise<void>,
) {
  await using site = await createSite();
  const tool = await site.tool("lmutil");
  await tool.says(lmstat({ solver: { total: 4, holders: [] } }));
  await site.configure(
    `[[servers]]\nid = "eda"\nmanager = "flexnet"\naddress = "27000@lic1"\ntool = "${tool.path}"\n`,
  );
  await using daemon = await site.serve();
  await work(site, await site.key("admin"), daemon, (text) => tool.says(text));
}

test("a server that goes down and comes back is a line each, however often it is polled", () =>
  withServer(async (_, key, daemon, say) => {
    await poll(daemon, key);
    await say(REFUSED);
    for (let count = 0; count < 4; count++) await poll(daemon, key);
    await say(lmstat({ solver: { total: 4, holders: [] } }));
    for (let count = 0; count < 3; count++) await poll(daemon, key);
    const lines = await until("both lines", async () => {
      const found = await linesOf(daemon, key, "&server_ids=eda&sources=collector");
      return found.length >= 2 ? found : undefined;
    });
    expect(shown(lines)).toEqual(["error server does not answer", "info server answers again"]);
    expect(lines[0]?.metadata).toMatchObject({ server: "eda", code: "LICENSE_SERVER_UNREACHABLE" });
  }));

test("a license daemon that goes down degrades its server: a line each, and one each back", () =>
  withServer(async (_, key, daemon, say) => {
    const whole = lmstat({ solver: { total: 4, holders: [] } }).replace(
      "     acmed: UP v11.18.2\n",
      "     acmed: UP v11.18.2\n     toold: UP v11.18.2\n",
    );
    expect(whole).toContain("toold: UP");
    const half = whole.replace("toold: UP v11.18.2", "toold: The desired vendor daemon is down. (-97,121)");
    for (const text of [whole, whole, half, half, half, whole, whole]) {
      await say(text);
      await poll(daemon, key);
    }
    const lines = await until("all lines", async () => {
      const found = await linesOf(daemon, key, "&server_ids=eda&sources=collector");
      return found.length >= 4 ? found : undefined;
    });
    expect(shown(lines)).toEqual([
      "warn server is degraded",
      "warn license daemon is down",
      "info server is up again",
      "info license daemon is up again",
    ]);
    expect(lines[1]?.metadata).toMatchObject({ server: "eda", daemon: "toold", from: "up", to: "down" });
  }));

test("a key that fails, a reload, and a reload that is refused are log events", () =>
  withServer(async (site, key, daemon) => {
    const before = (await linesOf(daemon, key)).length;
    await daemon.get("/api/licenses", "lmk_aaaaaaaaaaaa_wrong");
    const config = await Bun.file(site.config).text();
    process.kill(daemon.pid, "SIGHUP");
    await until("the reload", () => daemon.output().includes("The config was read again") || undefined);
    await Bun.write(site.config, `${config}\n[log]\nlevel = "loud"\n`);
    process.kill(daemon.pid, "SIGHUP");
    await until("the refusal", () => daemon.output().includes("The config was refused") || undefined);
    const lines = await until("they are stored", async () => {
      const found = (await linesOf(daemon, key)).slice(before);
      return found.some(({ message }) => message.startsWith("The config was refused")) ? found : undefined;
    });
    const told = lines.filter(({ source }) => source === "auth" || source === "config");
    expect(told.map(({ source, level, message }) => `${source} ${level} ${message}`)).toEqual(
      expect.arrayContaining([
        "auth warn API key refused",
        "config info The config was read again",
        "config error Config problem",
        "config error The config was refused, the running one stays",
      ]),
    );
  }));
