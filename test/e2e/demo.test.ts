import { expect, test } from "bun:test";
import { freePort, start, until, untilPrinted } from "./harness.ts";

test("demo: six servers or more, polled through real tool output, an address and an admin key on the terminal", async () => {
  const port = await freePort();
  await using daemon = await start({ args: ["demo", "--port", String(port), "--history", "2"], port });
  const key = await until(
    "the admin key is printed",
    () => /lmk_[a-z0-9]{12}_[A-Za-z0-9_-]{43}/.exec(daemon.output())?.[0],
  );
  await untilPrinted(daemon, `:${port}`);

  interface ServerRow {
    readonly id: string;
    readonly manager: string;
    readonly status: string;
    readonly state: string;
    readonly unparsedLines: number;
    readonly nextPollAt: string | null;
  }
  const servers = await until("every server is polled", async () => {
    const body = (await (await daemon.get("/api/licenses/servers", key)).json()) as { servers: ServerRow[] };
    // What its history ends with is there at once, without a next poll.
    return body.servers.every((row) => row.status !== "unknown" && row.nextPollAt !== null)
      ? body.servers
      : undefined;
  });
  expect(servers.length).toBeGreaterThanOrEqual(6);
  expect(new Set(servers.map((row) => row.manager))).toEqual(new Set(["flexnet", "rlm"]));
  expect(servers.filter((row) => row.unparsedLines > 0)).toEqual([]);
  expect(servers.some((row) => row.status === "degraded")).toBe(true);

  const summary = (await (await daemon.get("/api/licenses/summary", key)).json()) as {
    seats: { total: number };
  };
  expect(summary.seats.total).toBeGreaterThan(0);
  const raw = (await (await daemon.get(`/api/licenses/servers/${servers[0]?.id}/raw`, key)).json()) as {
    argv: string[];
  };
  expect(raw.argv.join(" ")).toContain("simulate");

  const stats = (await (await daemon.get("/api/licenses/stats?server=eda", key)).json()) as {
    features: { coverage: number; peakUsed: number | null; denials: number | null }[];
  };
  expect(stats.features.length).toBeGreaterThan(3);
  for (const feature of stats.features) expect(feature.coverage).toBeGreaterThan(0.99);
  // Every hour of the day somebody asks for more than there is.
  expect(stats.features.some(({ denials }) => denials !== null && denials > 20)).toBe(true);

  const page = (await (await daemon.get("/api/licenses/denials?server=eda&user=regress", key)).json()) as {
    total: number;
    denials: { attempts: number; reason: string; outcome: string }[];
    logging: { state: string; source: string }[];
  };
  expect(page.total).toBeGreaterThan(40);
  // The newest may be one that is tried again just now.
  expect(page.denials).toContainEqual(expect.objectContaining({ attempts: 3, outcome: "denied" }));
  expect(page.logging).toMatchObject([{ state: "on", source: "debug_log" }]);

  expect(await daemon.stop()).toBe(0);
});
