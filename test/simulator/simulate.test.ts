import { describe, expect, test } from "bun:test";
import { UsageError } from "../../src/cli/io.ts";
import { runTool } from "../../src/cli/simulate.ts";
import { simulatedLstcQrun } from "../../src/managers/profiles/profile-manager.ts";
import { managerOf } from "../../src/managers/registry.ts";
import { SERVERS } from "../../src/simulator/servers.ts";
import { createSite, isSilent } from "../../src/simulator/site.ts";
import { readAs } from "../managers/read-as.ts";

const NOW = Date.parse("2026-11-18T10:01:02.345Z");
const OWN = ["--timezone", "Europe/Berlin", "--seed", "7"];

const run = (manager: "flexnet" | "rlm", now: number, ...args: string[]) =>
  runTool(managerOf(manager), args, "", now);
const lmstat = (server: string, ...args: string[]) =>
  run("flexnet", NOW, ...OWN, "--server", server, "lmstat", ...args);
const rlmstat = (...args: string[]) => run("rlm", NOW, ...OWN, "rlmstat", ...args);

const read = (manager: "flexnet" | "rlm", text: string) =>
  readAs(manager, text, { zone: "Europe/Berlin", now: NOW });

describe("lmstat", () => {
  test("-a -i -c prints the report under the given names", () => {
    const { stdout, stderr, exitCode } = lmstat("eda", "-a", "-i", "-c", "2700@elsewhere");
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
    expect(stdout).toContain("Flexible License Manager status on Wed 11/18/2026 11:01");
    const reading = read("flexnet", stdout);
    expect(reading.members).toMatchObject([{ host: "elsewhere", port: 2700, status: "up" }]);
    expect(reading.features.length).toBeGreaterThan(5);
    expect(reading.unparsedLines).toBe(0);
  });

  test("answers lmutil lmstat like the collector's command", () => {
    const [step] = managerOf("flexnet").steps(["licmond", "--server", "eda", ...OWN], "27000@lic-eda");
    const argv = step !== undefined && "argv" in step ? step.argv : [];
    const asCollected = run("flexnet", NOW, ...argv.slice(1));
    const query = ["--server=eda", ...OWN, "lmutil", "lmstat", "-a", "-i", "-c", "27000@lic-eda"];
    expect(asCollected.exitCode).toBe(0);
    expect(run("flexnet", NOW, ...query)).toEqual(asCollected);
  });

  test("-f and -S filter; without -a there are no features", () => {
    expect(read("flexnet", lmstat("plm", "-S", "vaultlmd").stdout).features.map(({ name }) => name)).toEqual([
      "server",
      "viewer",
      "author",
    ]);
    expect(read("flexnet", lmstat("plm", "-f", "viewer").stdout).features).toHaveLength(2);
    expect(read("flexnet", lmstat("plm", "-c", "28000@lic-plm").stdout).features).toEqual([]);
  });

  test("an unreachable server has lmutil's error and exit code", () => {
    const remote = SERVERS.find(({ id }) => id === "remote");
    let minute = 0;
    while (remote !== undefined && minute < 60 && !isSilent(7, remote, NOW + minute * 60_000)) minute++;
    const query = ["--server", "remote", ...OWN, "lmstat", "-a", "-i", "-c", "27020@lic-branch"];
    const { stdout, exitCode } = run("flexnet", NOW + minute * 60_000, ...query);
    expect(exitCode).toBe(241);
    expect(stdout).toContain(
      'Error getting status: Cannot connect to license server system. (-15,570:111 "Connection refused")',
    );
    expect(read("flexnet", stdout)).toMatchObject({ features: [], errors: [{ kind: "unreachable" }] });
  });

  test("-v prints the version", () => {
    expect(lmstat("eda", "-v").stdout).toMatch(/^lmstat v11\./m);
  });
});

describe("rlmstat", () => {
  test("-i takes one ISV, -p one product, -v the version", () => {
    const { stdout } = rlmstat("-i", "paintisv");
    expect(read("rlm", stdout).features.map(({ name }) => name)).toEqual(["paint_studio", "paint_viewer"]);
    expect(read("rlm", rlmstat("-p", "denoise-gpu").stdout).features).toHaveLength(1);
    expect(rlmstat("-v").stdout).toStartWith("rlmutil v14.2\n");
  });
});

describe("lstc_qrun", () => {
  const impact = SERVERS.find(({ id }) => id === "impact");
  const answer = (args: readonly string[], minutes = 0) => {
    if (impact === undefined) throw new Error("no impact");
    const site = createSite({ seed: 7, zone: "Europe/Berlin" });
    const { address, version, members } = impact;
    const reading = () => site.reading(impact, Date.parse("2026-11-18T22:00:00Z") + minutes * 60_000);
    return {
      ...simulatedLstcQrun.answer(args, "", { address, version, members, zone: "UTC", reading }),
      reading,
    };
  };

  test("-R lists programs, their jobs and the group's sum at the end", () => {
    const { stdout, exitCode, reading } = answer(["-s", "31010@lic-impact", "-R"]);
    expect(exitCode).toBe(0);
    for (const args of [[], ["-R"], ["-s", "31010@lic"]])
      expect(answer(args)).toMatchObject({ stdout: "", exitCode: 1 });
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).toBe("Using user specified server 31010@lic-impact");
    const used = reading().features.reduce((sum, one) => sum + (one.used ?? 0), 0);
    expect(used).toBeGreaterThan(100);
    expect(lines.at(-1)).toMatch(new RegExp(`^ +LICENSE GROUP +${used} +${500 - used} +500 \\| +\\d+$`));
    const jobs = lines.filter((line) => /^ \S+ +\d+@\S+ +\d+$/.test(line));
    expect(jobs).toHaveLength(reading().features.flatMap(({ checkouts }) => checkouts).length);
    expect(lines.filter((line) => /^MPP_SOLVE +\d\d\/\d\d\/\d{4} +- +\d+ +500 \|/.test(line))).toHaveLength(
      1,
    );
  });
});

test.each([
  [["--server", "nowhere"], "eda, cae, plm, remote, embedded"],
  [["--server", "media"], '"media"'],
  [["--seed", "one"], "--seed"],
  [["--seed"], "--seed needs a value"],
  [["--timezone", "Mars/Olympus"], "Mars/Olympus"],
])("%j is an error of the simulator", (args, words) => {
  expect(() => runTool(managerOf("flexnet"), args, "", NOW)).toThrow(UsageError);
  expect(() => runTool(managerOf("flexnet"), args, "", NOW)).toThrow(words);
});
