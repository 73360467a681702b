import { expect, test } from "bun:test";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { lmstat, REFUSED } from "../e2e/lmstat.ts";
import { createPlace, type Place, run } from "./rig.ts";

async function withTool(place: Place, output: string): Promise<string> {
  const tool = join(place.folder, "lmutil");
  await Bun.write(`${tool}.txt`, output);
  await Bun.write(tool, `#!/bin/sh\nexec cat '${tool}.txt'\n`);
  await chmod(tool, 0o755);
  await place.write(
    `[[servers]]\nid = "eda"\nmanager = "flexnet"\naddress = "27000@127.0.0.1"\ntool = "${tool}"\n`,
  );
  return tool;
}

test("a configured server: a table, records, or the tool's words", async () => {
  await using place = await createPlace();
  const text = lmstat({ solver: { total: 4, holders: [{ user: "ada", host: "ws01" }] } });
  await withTool(place, text);
  const config = ["--config", place.config];
  const table = await run(["probe", "eda", ...config]);
  expect(table).toMatchObject({ exitCode: 0, err: "" });
  expect(table.out).toMatch(/^eda: up, ok, polled in \d\.\d\d s\n/);
  expect(table.out).toMatch(/acmed +solver +4 +1 +3/);
  expect(table.out).toMatch(/checkout +solver +ada +ws01 +1/);

  const records = await run(["probe", "eda", "--json", ...config]);
  expect(JSON.parse(records.out)).toMatchObject({
    servers: [{ id: "eda" }],
    features: [{ server: "eda", used: 1 }],
    users: [{ user: "ada" }],
  });
  expect((await run(["probe", "eda", "--raw", ...config])).out).toBe(text);
});

test("cells are cut to the terminal; without one they are whole, and pad no other line", async () => {
  await using place = await createPlace();
  const long = "x".repeat(200_000);
  await withTool(
    place,
    lmstat({
      solver: {
        total: 4,
        holders: [
          { user: "ada", host: long },
          { user: "日本語日本語日本語日本語", host: "ws01" },
        ],
      },
    }),
  );
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

test("a server that no config names", async () => {
  await using place = await createPlace();
  const tool = await withTool(place, lmstat({ solver: { total: 4, holders: [] } }));
  const args = ["probe", "flexnet", "27000@127.0.0.1", "--tool", tool, "--json"];
  const { exitCode, out } = await run([...args, "--config", place.config]);
  expect(exitCode).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ features: [{ server: "flexnet", name: "solver", total: 4 }] });
});

test("one that does not answer: the tool's words, exit 1", async () => {
  await using place = await createPlace();
  await withTool(place, REFUSED);
  const { exitCode, err } = await run(["probe", "eda", "--config", place.config]);
  expect(exitCode).toBe(1);
  expect(err).toContain("LICENSE_SERVER_UNREACHABLE");
  expect(err).toContain("Connection refused");
});

test("one that is not configured: the ids that are", async () => {
  await using place = await createPlace();
  await withTool(place, "");
  const { exitCode, err } = await run(["probe", "ead", "--config", place.config]);
  expect(exitCode).toBe(2);
  expect(err).toContain("there are eda");
});

test("a tool that cannot start: what is wrong, and once", async () => {
  await using place = await createPlace();
  const tool = await withTool(place, "");
  await chmod(tool, 0o644);
  const { exitCode, err } = await run(["probe", "eda", "--config", place.config]);
  expect(exitCode).toBe(1);
  const [message = "", ...words] = err.trimEnd().split("\n");
  expect(message).toStartWith("licmond: LICENSE_QUERY_FAILED: The tool could not be started");
  expect(words).toEqual([`  ${tool} is not executable for this user. Fix: \`chmod a+rx ${tool}\`.`]);
});

test("the tool's words stand below the message, line by line", async () => {
  await using place = await createPlace();
  await withTool(place, "first \u001b[2Jword\nsecond word\n");
  const { err } = await run(["probe", "eda", "--config", place.config]);
  expect(err).toContain("\n  first \\x1b[2Jword\n  second word\n");
});
