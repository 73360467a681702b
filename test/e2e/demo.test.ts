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
    readonly unparsedLines: number;
    readonly nextPollAt: string | null;
  }
  const servers = await until("every server is polled", async () => {
    const { servers: rows } = await daemon.json<{ servers: ServerRow[] }>("/api/licenses/servers", key);
    // What its history ends with is there at once, without a next poll.
    return rows.every((row) => row.status !== "unknown" && row.nextPollAt !== null) ? rows : undefined;
  });
  expect(servers.length).toBeGreaterThanOrEqual(6);
  expect(new Set(servers.map((row) => row.manager))).toEqual(new Set(["flexnet", "rlm"]));
  expect(servers.filter((row) => row.unparsedLines > 0)).toEqual([]);
  expect(servers.some((row) => row.status === "degraded")).toBe(true);

  const { seats } = await daemon.json<{ seats: { total: number } }>("/api/licenses/summary", key);
  expect(seats.total).toBeGreaterThan(0);
  const raw = `/api/licenses/servers/${servers[0]?.id}/raw`;
  expect((await daemon.json<{ argv: string[] }>(raw, key)).argv.join(" ")).toContain("simulate");

  const stats = await daemon.json<{ features: { coverage: number; denials: number | null }[] }>(
    "/api/licenses/stats?server=eda",
    key,
  );
  expect(stats.features.length).toBeGreaterThan(3);
  for (const feature of stats.features) expect(feature.coverage).toBeGreaterThan(0.99);
  // In every hour of the day more is asked for than there is.
  expect(stats.features.some(({ denials }) => denials !== null && denials > 20)).toBe(true);

  const page = await daemon.json<{ total: number; denials: object[]; logging: object[] }>(
    "/api/licenses/denials?server=eda&user=regress",
    key,
  );
  expect(page.total).toBeGreaterThan(40);
  // The newest may be one that is tried again just now.
  expect(page.denials).toContainEqual(expect.objectContaining({ attempts: 3, outcome: "denied" }));
  expect(page.logging).toMatchObject([{ state: "on", source: "debug_log" }]);

  expect(await daemon.stop()).toBe(0);
});
