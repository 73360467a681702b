import { expect, test } from "bun:test";
import { bench, monitored, NOW, picture } from "./make.ts";

const HOUR = 3_600_000;
const iso = (hour: number) => new Date(NOW + hour * HOUR).toISOString();
const of = (servers: string[], startsIn: number, hours: number, every: "day" | "week" | null = null) => ({
  servers,
  startAt: NOW + startsIn * HOUR,
  durationMs: hours * HOUR,
  every,
});

test("maintenance windows: the active ones, and the next start of each", async () => {
  const maintenance = [
    of(["ed*"], -1, 4),
    of(["*"], -48, 2, "day"),
    of(["c?e"], -24 * 7 + 3, 4, "week"),
    of(["gone"], -9, 1),
    of(["eda"], -30, 24, "day"),
  ];
  const at = bench({}, { maintenance });
  at.show(picture("eda"), picture("cae", { server: monitored("cae", { labels: { site: "stu" } }) }));
  const told = await at.json<{ windows: Record<string, unknown>[]; timezone: string }>("/api/maintenance");
  const hours = (start: number, end: number) => ({ start: iso(start), end: iso(end) });
  const once = { every: null, next: null };
  expect(told).toEqual({
    windows: [
      { ...once, patterns: ["ed*"], servers: ["eda"], durationSeconds: 14_400, running: hours(-1, 3) },
      {
        ...{ patterns: ["*"], servers: ["eda", "cae"], every: "day", durationSeconds: 7200 },
        ...{ running: hours(0, 2), next: hours(24, 26) },
      },
      {
        ...{ patterns: ["c?e"], servers: ["cae"], every: "week", durationSeconds: 14_400 },
        ...{ running: null, next: hours(3, 7) },
      },
      { ...once, patterns: ["gone"], servers: [], durationSeconds: 3600, running: null },
      {
        ...{ patterns: ["eda"], servers: ["eda"], every: "day", durationSeconds: 86_400 },
        ...{ running: { start: iso(-6), end: null }, next: { start: iso(18), end: null } },
      },
    ],
    timezone: "Europe/Berlin",
  });
  const patternsOf = async (query: string) => {
    const { windows } = await at.json<typeof told>(`/api/maintenance?${query}`);
    return windows.flatMap(({ patterns }) => patterns);
  };
  expect(await patternsOf("label=site:stu")).toEqual(["*", "c?e"]);
  expect(await patternsOf("server=eda")).toEqual(["ed*", "*", "eda"]);
  expect(await at.status("/api/maintenance?server=edda")).toBe(404);
  expect(await at.status("/api/maintenance?label=site:s")).toBe(404);
  expect(await at.status("/api/maintenance", { key: at.keys.calendar })).toBe(403);
});
