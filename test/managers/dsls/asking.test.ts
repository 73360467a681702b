import { describe, expect, test } from "bun:test";
import { askInTurn } from "../../../src/collector/ask.ts";
import { catalogueOf, planCommand } from "../../../src/collector/execute/catalogue.ts";
import type { Reading } from "../../../src/domain/reading.ts";
import type { Step } from "../../../src/managers/manager.ts";
import { managerOf } from "../../../src/managers/registry.ts";
import type { ToolTarget } from "../../../src/managers/simulated-tool.ts";
import { monitored, picture } from "../../http/make.ts";
import { fixture, parse } from "./read.ts";

const dsls = managerOf("dsls");
const JAVA = "-Duser.language=en -Duser.country=US -Dfile.encoding=UTF-8 -Dstdout.encoding=UTF-8";

describe("steps", () => {
  test("passes the commands of one server after -run", () => {
    expect(dsls.steps(["/opt/DSLicSrv"], "lic1")).toEqual([
      {
        name: "4084@lic1",
        argv: [
          "/opt/DSLicSrv",
          "-admin",
          "-run",
          "connect lic1 4084 -restricted; getLicenseUsage -csv; quit",
        ],
        env: { LANG: "C", JAVA_TOOL_OPTIONS: JAVA },
      },
    ]);
  });

  test("queries the servers of a cluster in turn until one answers", () => {
    expect(dsls.steps(["t"], "a,4085@b,c").map(({ name }) => name)).toEqual(["4084@a", "4085@b", "4084@c"]);
    expect(dsls.until).toBe("first answer");
    expect([1, 2, 3].map((count) => dsls.quorum(count))).toEqual([1, 1, 2]);
  });

  test("passes commands and secret on stdin", () => {
    expect(dsls.steps(["t"], "lic1", true)).toEqual([
      {
        name: "4084@lic1",
        argv: ["t", "-admin"],
        env: { LANG: "C", JAVA_TOOL_OPTIONS: JAVA },
        stdin: "connect lic1 4084 -restricted\n{secret}\ngetLicenseUsage -csv\nquit\n",
      },
    ]);
  });
});

test("an unreachable server of a cluster is a member that is down", async () => {
  const texts = [fixture("unreachable.txt"), fixture("run.txt")];
  const ended = { started: true, argv: [], exitCode: 0, signal: null, durationMs: 1 } as const;
  const flags = {
    timedOut: false,
    aborted: false,
    abandoned: false,
    truncated: false,
    stderrTruncated: false,
  };
  const { reading } = await askInTurn(dsls, dsls.steps(["t"], "a,b,c"), 1000, async (step) => {
    const stdout = new TextEncoder().encode(texts.shift());
    const result = { ...ended, ...flags, stdout, stderr: new Uint8Array(0) };
    return { step, result, reading: parse(stdout, { step: step.name }), limitMs: 1000 };
  });
  expect(texts).toEqual([]);
  expect(reading?.members.map(({ host, status }) => `${host} ${status}`)).toEqual(["a down", "b up"]);
  expect(reading?.features).toHaveLength(6);
});

test("queries the status of a server that is up", () => {
  const entry = catalogueOf([], [dsls]).get("status");
  const cluster = picture("cad", {
    server: monitored("cad", { manager: "dsls", address: "a,b,4085@c" }),
    members: [
      { host: "a", port: 4084, status: "down", master: false, version: null, error: null },
      { host: "b", port: 4084, status: "up", master: false, version: null, error: null },
    ],
  });
  if (entry === undefined) throw new Error("no status");
  const plan = (of: typeof cluster) =>
    planCommand(entry, { picture: of, args: {}, timeoutMs: null }, ([name = ""]) => `/opt/${name}`).argv;
  expect(plan(cluster)).toEqual([
    "/opt/DSLicSrv",
    "-admin",
    "-run",
    "connect b 4084 -restricted; getLicenseUsage -csv; quit",
  ]);
  expect(plan({ ...cluster, members: [] })[3]).toStartWith("connect a 4084 ");
});

describe("explains errors", () => {
  test.each([
    ["text.txt", "printed its usage as text"],
    ["not-ready.txt", "is not ready"],
  ])("%s", (name, words) => {
    const [error] = parse(fixture(name)).errors;
    expect(error === undefined ? null : dsls.explain(error)).toContain(words);
  });

  test("does not explain an unreachable server", () => {
    const [error] = parse(fixture("unreachable.txt")).errors;
    expect(error === undefined ? undefined : dsls.explain(error)).toBeNull();
  });
});

describe("simulated DSLicSrv", () => {
  const known = parse(fixture("run.txt"), { step: "4084@lic-shape" });
  const serverOf = (hosts: readonly string[], down: readonly string[] = []): ToolTarget => ({
    address: hosts.join(","),
    version: "6.426.1",
    zone: "UTC",
    members: hosts.map((host) => ({ host, port: 4084 })),
    reading: (named): Reading => ({
      ...known,
      members: named.map(({ host, port }) => ({
        ...{ host, port, master: false, version: "6.426.1", error: null },
        status: down.includes(host) ? "down" : "up",
      })),
    }),
  });
  const ask = (step: Step, server: ToolTarget) => {
    if (!("argv" in step)) throw new Error("DSLicSrv is a command");
    return dsls.simulatedTool?.answer(
      step.argv.slice(1),
      (step.stdin ?? "").replace("{secret}", "s3cret"),
      server,
    );
  };

  test.each([[false], [true]])("answers the steps (with a secret: %p)", (hasSecret) => {
    const [step] = dsls.steps(["t"], "4084@lic-shape", hasSecret);
    const answer = step === undefined ? undefined : ask(step, serverOf(["lic-shape"]));
    expect(answer).toMatchObject({ stderr: "", exitCode: 0 });
    expect(answer?.stdout).not.toContain("s3cret");
    expect(answer?.stdout.includes("admin >quit")).toBe(!hasSecret);
    expect(parse(answer?.stdout ?? "", { step: "4084@lic-shape" })).toEqual(known);
  });

  test("each server of a cluster has its own answer", () => {
    const server = serverOf(["a", "b", "c"], ["a"]);
    const [first, second] = dsls.steps(["t"], "a,b,c").map((step) => ask(step, server));
    expect(first).toMatchObject({ exitCode: 1 });
    expect(parse(first?.stdout ?? "").errors).toMatchObject([{ kind: "unreachable" }]);
    expect(parse(second?.stdout ?? "", { step: "4084@b" })).toEqual({
      ...known,
      members: [{ host: "b", port: 4084, status: "up", master: false, version: "6.426.1", error: null }],
    });
  });

  test("prints no table unless it is requested", () => {
    const args = ["-admin", "-run", "connect lic-shape 4084; quit"];
    expect(dsls.simulatedTool?.answer(args, "", serverOf(["lic-shape"])).stdout).not.toContain("Editor,");
  });

  test("rejects an unknown command", () => {
    const answer = dsls.simulatedTool?.answer(["-admin", "-run", "frobnicate"], "", serverOf(["lic-shape"]));
    expect(parse(answer?.stdout ?? "").errors).toMatchObject([{ kind: "query" }]);
  });
});
