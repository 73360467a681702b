import { expect, test } from "bun:test";
import { join } from "node:path";
import { lmstat, REFUSED } from "../e2e/lmstat.ts";
import { createPlace, run } from "./rig.ts";

const WHOLE = lmstat({
  solver: { total: 4, holders: [{ user: "ada", host: "ws01" }] },
  mesher: { total: 2, holders: [] },
});
const FLEXNET = ["parse", "--manager", "flexnet"];

test("from a file, with an id and a zone", async () => {
  await using place = await createPlace();
  const file = join(place.folder, "lmstat.txt");
  await Bun.write(file, WHOLE);
  const { out } = await run([...FLEXNET, "--server", "eda", "--timezone", "UTC", file]);
  expect(JSON.parse(out)).toMatchObject({
    servers: [{ id: "eda", address: file }],
    users: [{ server: "eda" }],
  });
});

test("in another encoding", async () => {
  const cp949 = Buffer.from(WHOLE, "latin1");
  cp949.set([0xb0, 0xa1], cp949.indexOf("ada"));
  const userOf = async (...args: string[]) =>
    JSON.parse((await run([...FLEXNET, ...args], { stdin: cp949 })).out).users[0].user;
  expect(await userOf("--encoding", "euc-kr")).toBe("가a");
  expect(await userOf()).toBe("°¡a");
  expect(await run([...FLEXNET, "--encoding", "utf-7"])).toMatchObject({ exitCode: 2 });
});

test("errors of a failed query do not name the file", async () => {
  await using place = await createPlace();
  const file = join(place.folder, "saved-output.txt");
  const head = "lmutil - Copyright (c) 1989-2020 Flexera. All Rights Reserved.\n";
  const errors = ["Cannot read data from license server system. (-16,287)", "No such file. (-1,359)"];
  for (const error of [...errors, "Cannot connect to license server system. (-15,570)"]) {
    await Bun.write(file, `${head}Error getting status: ${error}\n`);
    const { exitCode, err } = await run([...FLEXNET, file]);
    expect(exitCode).toBe(1);
    expect(err).toContain(error);
    expect(err).not.toContain("saved-output");
  }
});

test("a missing file", async () => {
  const { exitCode, out, err } = await run([...FLEXNET, "/nonexistent/lmstat.txt"]);
  expect({ exitCode, out }).toEqual({ exitCode: 1, out: "" });
  expect(err).toContain("/nonexistent/lmstat.txt");
});

test("prints unknown lines with their numbers on stderr, records on stdout", async () => {
  const strange = WHOLE.replace("Feature usage info:\n", "Feature usage info:\n\n\u001b[31mnever seen\n");
  const { out, err } = await run(FLEXNET, { stdin: strange });
  expect(err).toMatch(/^line \d+: \u001b\[31mnever seen\n$/);
  expect(JSON.parse(out)).toMatchObject({ servers: [{ unparsedLines: 1 }] });
  for (const terminal of [true, { out: false, err: true }]) {
    const seen = await run(FLEXNET, { stdin: strange, terminal });
    expect(seen.err).toContain("\\u001b[31mnever seen");
  }
});

test("control characters in the records are escaped, and the output stays JSON", async () => {
  const { out } = await run(FLEXNET, { stdin: WHOLE.replace("ada ws01", "a\u009b31mda\u001b[2J ws01") });
  expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  expect(JSON.parse(out)).toMatchObject({ users: [{ user: "a\u009b31mda\u001b[2J" }] });
});

test("a server that is down: its record, the tool's error, exit 1", async () => {
  const { exitCode, out, err } = await run(FLEXNET, { stdin: REFUSED });
  expect(exitCode).toBe(1);
  expect(err).toContain("Connection refused");
  expect(JSON.parse(out)).toMatchObject({ servers: [{ error: { code: "LICENSE_SERVER_UNREACHABLE" } }] });
});

const NOTHING = "licmond: stdin contains nothing that flexnet's tool prints\n";
test.each([
  ["", "licmond: stdin is empty\n"],
  ["bash: lmutil: not found\n", `line 1: bash: lmutil: not found\n${NOTHING}`],
  ["\u0000\u0001\u0002", expect.stringContaining(NOTHING)],
])("%j is not output of the tool: exit 1, nothing on stdout", async (stdin, err) => {
  expect(await run(FLEXNET, { stdin })).toEqual({ exitCode: 1, out: "", err });
});
