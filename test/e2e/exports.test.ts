import { expect, test } from "bun:test";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { BINARY, until } from "./harness.ts";
import { createWatchedSite, type Watching } from "./watched-site.ts";

/** Names that a spreadsheet could run as formulas. */
const USER = "=cmd|'/c_calc'!A1_";
const FEATURES = ["=1+1", "+sum", "-neg", "@at", 'plain,"quoted"'];

function cellsOf(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, bare = "", end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    row.push(quoted === undefined ? bare : quoted.replaceAll('""', '"'));
    if (end === ",") continue;
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
  }
  return rows;
}

function dangerous(text: string): string[] {
  return cellsOf(text)
    .flat()
    .filter((cell) => /^[=+\-@\t\r]/.test(cell) && !/^-?\d+(\.\d+)?$/.test(cell));
}

async function populated(at: Watching, log: string): Promise<void> {
  const features = Object.fromEntries(
    FEATURES.map((name) => [name, { total: 3, used: 3, queued: 1, user: USER }]),
  );
  await at.poll({ features });
  await at.poll({ features: { ...features, "=1+1": { total: 3, used: 1, user: USER } } });
  const time = new Date(Date.now() - 60_000).toISOString().slice(11, 19);
  const full = "(Licensed number of users already reached. (-4,342))";
  await appendFile(log, `${time} (acmed) DENIED: "=1+1" =eve()@-host  ${full}\n`);
  const isThere = async () => (await at.ask<{ total: number }>("/api/licenses/denials")).total > 0;
  await until("the denial is there", async () => (await isThere()) || undefined);
  await at.firing();
}

test("every list and export as CSV is complete, counted, and safe in a spreadsheet", async () => {
  await using site = await createWatchedSite();
  const log = join(site.folder, "acmed.log");
  await Bun.write(log, "");
  await site.write('[alerts]\nfor = "0s"\nrecoveries = 1\n', `log_file = "${log}"\nname = "=SUM(A1)"`);
  await using at = await site.watch();
  await populated(at, log);
  const made = await at.post("/api/keys", { name: "=HYPERLINK()", role: "viewer" });
  expect(made.status).toBe(201);

  const day = new Date().toISOString().slice(0, 10);
  const paths = [
    ...["servers", "features", "users", "stats", "sessions", "denials", "heatmap", "efficiency", "usage"],
    ...["expirations", "alerts"],
  ].map((name) => `/api/licenses/${name}`);
  for (const path of [...paths, "/api/logs/recent", "/api/logs/search", "/api/keys"]) {
    const query = path.endsWith("/heatmap") ? `feature=${encodeURIComponent("=1+1")}&start=${day}` : "";
    const response = await at.daemon.get(`${path}?format=csv&${query}`, at.key);
    const text = await response.text();
    expect([path, response.status]).toEqual([path, 200]);
    expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    const disposition = response.headers.get("content-disposition");
    expect(disposition).toMatch(/^attachment; filename="licmond-[\w-]+\.csv"$/);
    const rows = cellsOf(text);
    expect([path, rows.length]).not.toEqual([path, 1]);
    // A CSV has a line for each match, or for each of the page, all as wide as the header. Efficiency counts features, but
    // has a line for each seat and what-if.
    const total = Number(response.headers.get("x-total-count"));
    const matches = path.endsWith("/efficiency")
      ? new Set(rows.slice(1).map((row) => row.slice(0, 3).join())).size
      : rows.length - 1;
    expect([path, Math.min(total, 100)]).toEqual([path, Math.min(matches, 100)]);
    expect([path, new Set(rows.map((row) => row.length)).size]).toEqual([path, 1]);
    expect([path, dangerous(text)]).toEqual([path, []]);
    const accepted = await at.daemon.get(`${path}?${query}`, at.key, { headers: { Accept: "text/csv" } });
    expect([path, accepted.headers.get("content-type")]).toEqual([path, "text/csv; charset=utf-8"]);
  }
  const users = await (await at.daemon.get("/api/licenses/users?format=csv", at.key)).text();
  expect(users).toContain("'=cmd");

  for (const table of ["sessions", "samples", "denials", "logs"]) {
    const { exitCode, stdout, stderr } = await site.run(["export", table]);
    expect([table, exitCode]).toEqual([table, 0]);
    expect(stderr).toMatch(/^Exporting \w+ …\n\d+ rows? of \w+\n$/);
    expect(cellsOf(stdout).length).toBeGreaterThan(1);
    expect([table, dangerous(stdout)]).toEqual([table, []]);
    const json = await site.run(["export", table, "--format", "json"]);
    expect((JSON.parse(json.stdout) as unknown[]).length).toBe(cellsOf(stdout).length - 1);
  }
});

test("a failed write to stdout is an error, and never a truncated export", async () => {
  await using site = await createWatchedSite();
  await site.write("");
  {
    await using at = await site.watch();
    await at.poll({ features: { solver: { total: 3, used: 1 } } });
  }
  for (const args of [["export", "sessions"], ["export", "logs", "--format", "json"], ["openapi"]]) {
    const child = Bun.spawn([BINARY, ...args, "--config", site.config], {
      stdin: "ignore",
      stdout: Bun.file("/dev/full"),
      stderr: "pipe",
    });
    const stderr = await child.stderr.text();
    expect([args, await child.exited]).toEqual([args, 1]);
    expect(stderr).toMatch(/^(Exporting \w+ …\n)?licmond: cannot write to stdout: .*ENOSPC.*\n$/);
  }
});
