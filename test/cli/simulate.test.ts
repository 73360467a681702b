import { describe, expect, test } from "bun:test";
import { Command, CommanderError } from "commander";
import { define } from "../../src/cli/simulate.ts";

/** Runs the command as the program would, and gathers what it leaves behind. */
async function run(...args: string[]) {
  const left = { stdout: "", stderr: "", exitCode: null as number | null };
  const program = new Command("licmond")
    .enablePositionalOptions()
    .option("-c, --config <file>")
    .version("1.2.3");
  const command = program.command("simulate");
  define(command, {
    out: (text) => {
      left.stdout += text;
    },
    err: (text) => {
      left.stderr += text;
    },
    exitCode: (code) => {
      left.exitCode = code;
    },
    now: () => Date.parse("2026-11-18T10:01:02Z"),
  });
  for (const each of [program, command]) {
    each.exitOverride().configureOutput({
      writeOut: (text) => {
        left.stdout += text;
      },
      writeErr: (text) => {
        left.stderr += text;
      },
    });
  }
  try {
    await program.parseAsync(["simulate", ...args], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    left.exitCode = error.exitCode;
  }
  return left;
}

describe("licmond simulate", () => {
  test("leaves the tool's options to the tool, though the program has some of the same name", async () => {
    const { stdout, stderr, exitCode } = await run(
      ..."flexnet --server eda --seed 7 --timezone Europe/Berlin lmstat -a -i -c 27000@host".split(" "),
    );
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
    expect(stdout).toContain("License server status: 27000@host\n");
    expect(stdout).toContain("Users of Schema_Editor:");
  });

  test("-v and -V are the tool's too", async () => {
    expect((await run("rlm", "-v")).stdout).toStartWith("rlmutil v");
    expect(await run("rlm", "-V")).toMatchObject({ stdout: "", exitCode: 1 });
  });

  test("unknown options: the tool's usage on stderr, exit 1", async () => {
    const { stdout, stderr, exitCode } = await run("flexnet", "lmstat", "--frobnicate");
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 1 });
    expect(stderr).toContain("usage: lmstat");
  });

  test.each([[["--help"]], [["flexnet", "--help"]]])("%j explains", async (args) => {
    const { stdout, stderr, exitCode } = await run(...args);
    expect({ stderr, exitCode: exitCode ?? 0 }).toEqual({ stderr: "", exitCode: 0 });
    for (const words of ["simulate", "--server", "--seed", "eda", "rlmstat -a"])
      expect(stdout).toContain(words);
    expect(stdout).not.toContain("--at");
  });

  test.each([
    [["frobnicate"], "flexnet, rlm"],
    [["flexnet", "--server", "nowhere", "lmstat", "-a"], "eda, cae"],
    [["flexnet", "--seed", "x"], "--seed"],
  ])("%j is a usage error: exit 2", async (args, words) => {
    const { stdout, stderr, exitCode } = await run(...args);
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 2 });
    expect(stderr).toContain(words);
  });
});
