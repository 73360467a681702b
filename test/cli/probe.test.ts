import { expect, test } from "bun:test";
import { lmstat, REFUSED } from "../e2e/lmstat.ts";
import { createPlace, type Place, run, withTool } from "./rig.ts";

const SOLVER = { solver: { total: 4, holders: [{ user: "ada", host: "ws01" }] } };
const probe = (place: Place, ...args: string[]) => run(["probe", ...args, "--config", place.config]);

test("a configured server as a table, as records, or as the tool's output", async () => {
  await using place = await createPlace();
  const text = lmstat(SOLVER);
  await withTool(place, text);
  const table = await probe(place, "eda");
  expect(table).toMatchObject({ exitCode: 0, err: "" });
  expect(table.out).toMatch(/^eda: up, ok, polled in \d\.\d\d s\n/);
  expect(table.out).toMatch(/acmed +solver +4 +1 +3/);
  expect(table.out).toMatch(/checkout +solver +ada +ws01 +1/);

  const records = await probe(place, "eda", "--json");
  const features = [{ server: "eda", used: 1 }];
  expect(JSON.parse(records.out)).toMatchObject({
    servers: [{ id: "eda" }],
    features,
    users: [{ user: "ada" }],
  });
  expect((await probe(place, "eda", "--raw")).out).toBe(text);
});

test("cells are cut to the terminal's width; without a terminal long cells shift only their own line", async () => {
  await using place = await createPlace();
  const long = "x".repeat(200_000);
  const [ada, wide] = [
    { user: "ada", host: long },
    { user: "日本語日本語日本語日本語", host: "ws01" },
  ];
  await withTool(place, lmstat({ solver: { total: 4, holders: [ada, wide] } }));
  const args = ["probe", "eda", "--config", place.config];
  for (const columns of [60, 80, 200]) {
    const { out } = await run(args, { terminal: { out: true, err: true, columns } });
    const widths = out.split("\n").map((line) => Bun.stringWidth(line));
    expect(Math.max(...widths)).toBeLessThanOrEqual(columns);
    expect(out).toMatch(/ada +x+… +1/);
  }
  const { out } = await run(args);
  expect(out).toContain(long);
  expect(out.length).toBeLessThan(long.length + 5000);
});

test("a server that is not in the config", async () => {
  await using place = await createPlace();
  const tool = await withTool(place, lmstat({ solver: { total: 4, holders: [] } }));
  const { exitCode, out } = await probe(place, "flexnet", "27000@127.0.0.1", "--tool", tool, "--json");
  expect(exitCode).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ features: [{ server: "flexnet", name: "solver", total: 4 }] });
});

test("prints the tool's error if a server is down, and known ids for an unknown server", async () => {
  await using place = await createPlace();
  await withTool(place, REFUSED);
  const { exitCode, err } = await probe(place, "eda");
  expect(exitCode).toBe(1);
  for (const words of ["LICENSE_SERVER_UNREACHABLE", "Connection refused"]) expect(err).toContain(words);
  const unknown = { exitCode: 2, err: expect.stringContaining("expected one of eda") };
  expect(await probe(place, "ead")).toMatchObject(unknown);
});

test("prints the tool's output below the message, line by line", async () => {
  await using place = await createPlace();
  await withTool(place, "first \u001b[2Jword\nsecond word\n");
  const { err } = await probe(place, "eda");
  expect(err).toContain("\n  first \\u001b[2Jword\n  second word\n");
});
