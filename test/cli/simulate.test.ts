import { describe, expect, test } from "bun:test";
import { SIMULATED } from "../../src/cli/simulate.ts";
import { MANAGERS } from "../../src/managers/registry.ts";
import { run as runLine } from "./rig.ts";

const run = (...args: string[]) => runLine(["simulate", ...args]);

describe("licmond simulate", () => {
  test("passes options to the tool, even if licmond has options of the same name", async () => {
    const line = "flexnet --server eda --seed 7 --timezone Europe/Berlin lmstat -a -i -c 27000@host";
    const { out, err, exitCode } = await run(...line.split(" "));
    expect({ err, exitCode }).toEqual({ err: "", exitCode: 0 });
    expect(out).toContain("License server status: 27000@host\n");
    expect(out).toContain("Users of Schema_Editor:");
  });

  test("passes -v and -V to the tool", async () => {
    expect((await run("rlm", "-v")).out).toStartWith("rlmutil v");
    expect(await run("rlm", "-V")).toMatchObject({ out: "", exitCode: 1 });
  });

  test("a tool that reads commands from stdin gets them", async () => {
    const told = "connect lic1 4084 -restricted\npa55word\ngetLicenseUsage -csv\nquit\n";
    const line = ["simulate", "dsls", "--server", "styling", "-admin"];
    const { out, exitCode } = await runLine(line, { stdin: told });
    expect([exitCode, out]).toEqual([0, expect.stringContaining("Orbiform Systems")]);
  });

  test("unknown options: the tool's usage on stderr, exit 1", async () => {
    const { out, err, exitCode } = await run("flexnet", "lmstat", "--frobnicate");
    expect({ out, exitCode }).toEqual({ out: "", exitCode: 1 });
    expect(err).toContain("usage: lmstat");
  });

  test.each([[["--help"]], [["flexnet", "--help"]]])("%j prints help", async (args) => {
    const { out, err, exitCode } = await run(...args);
    expect({ err, exitCode }).toEqual({ err: "", exitCode: 0 });
    for (const words of ["simulate", "--server", "--seed", "eda", "rlmstat -a"]) expect(out).toContain(words);
    expect(out).not.toContain("--at");
    for (const name of MANAGERS) expect(out.includes(name)).toBe(SIMULATED.includes(name));
  });

  test.each([
    [["frobnicate"], SIMULATED.join(", ")],
    [["flexnet", "--server", "nowhere", "lmstat", "-a"], "eda, cae"],
    [["flexnet", "--seed", "x"], "--seed"],
  ])("%j is a usage error: exit 2", async (args, words) => {
    const { out, err, exitCode } = await run(...args);
    expect({ out, exitCode }).toEqual({ out: "", exitCode: 2 });
    expect(err).toContain(words);
  });
});
