import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPoller, type PollerDeps } from "../../src/collector/poll.ts";
import { createCommandRunner } from "../../src/collector/run-command.ts";
import type { MonitoredServer } from "../../src/domain/server.ts";
import type { CommandStep, Manager, RequestStep, Step } from "../../src/managers/manager.ts";
import { decodeOutput } from "../../src/managers/read-output.ts";
import { createFakeService, hanging } from "../fake-service.ts";
import { server } from "./collector-site.ts";
import { plainManager } from "./plain-manager.ts";

const tools = join(import.meta.dir, "../fake-tools");
const REPEAT = join(tools, "repeat-stdin");
const SECRET = "open sésame/1";
const runner = createCommandRunner({ path: "/usr/bin:/bin", home: "/", graceMs: 100, quietMs: 100 });

let folder = "";
let secretFile = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "licmond-steps-"));
  secretFile = join(folder, "secret");
  writeFileSync(secretFile, `${SECRET}\n`);
});
afterAll(() => rmSync(folder, { recursive: true }));

function poll(
  steps: readonly Step[],
  of: Partial<MonitoredServer> = {},
  how: Partial<Manager> = {},
  more: Partial<PollerDeps> = {},
  signal?: AbortSignal,
) {
  const poller = createPoller({
    run: runner.run,
    managerOf: () => plainManager(steps, how),
    measure: async () => [],
    path: "/usr/bin:/bin",
    clock: { now: () => 0 },
    ...more,
  });
  return poller.poll(server("a", { manager: "plain", timeoutMs: 20_000, ...of }), signal);
}

const says = (name: string, ...lines: string[]): CommandStep => ({ name, argv: [REPEAT, ...lines], env: {} });
const asks = (name: string, url: string, more: Partial<RequestStep["request"]> = {}): RequestStep => {
  return { name, request: { method: "GET", url, ...more } };
};
const featuresOf = ({ reading }: Awaited<ReturnType<typeof poll>>) =>
  reading?.features.map(({ name }) => name);
const rawOf = ({ raw }: Awaited<ReturnType<typeof poll>>) => decodeOutput(raw.stdout);

describe("until: first answer", () => {
  const first = { until: "first answer" } as const;

  test("members are asked until one answers; raw has all outputs", async () => {
    const steps = [
      says("lic1", "error down"),
      says("lic2", "feature solver 4"),
      says("lic3", "feature other 1"),
    ];
    const outcome = await poll(steps, {}, first);
    expect(outcome.error).toBeNull();
    expect(featuresOf(outcome)).toEqual(["solver"]);
    expect(outcome.raw.argv).toEqual([REPEAT, "feature solver 4"]);
    expect(rawOf(outcome)).toBe(
      `==> lic1: ${REPEAT} error down (0)\nerror down\n\n==> lic2: ${REPEAT} feature solver 4 (0)\nfeature solver 4\n\n`,
    );
  });

  test("a hanging member does not prevent the others", async () => {
    const hang: CommandStep = { name: "lic1", argv: [join(tools, "hang")], env: {} };
    const outcome = await poll([hang, hang, says("lic3", "feature solver 4")], { timeoutMs: 2000 }, first);
    expect(featuresOf(outcome)).toEqual(["solver"]);
    const { error } = await poll([hang, hang], { timeoutMs: 400 }, first);
    expect(error?.code).toBe("TIMEOUT");
    expect(error?.message).toContain("within 0.2 s");
  });

  test("the most informative failure is reported", async () => {
    await using service = createFakeService({});
    const steps = [
      asks("lic1", "http://127.0.0.1:1/"),
      says("lic2", "error wrong password"),
      asks("lic3", service.url),
    ];
    const { error, reading } = await poll(steps, {}, first);
    expect(error).toMatchObject({ code: "LICENSE_QUERY_FAILED", details: "wrong password" });
    expect(reading?.errors).toHaveLength(1);
  });

  test("no step runs after a cancellation", async () => {
    const asked: string[] = [];
    const off = new AbortController();
    const run: PollerDeps["run"] = (request) => {
      asked.push(request.argv.join(" "));
      off.abort();
      return runner.run(request);
    };
    const { error } = await poll([says("lic1", "x"), says("lic2", "y")], {}, first, { run }, off.signal);
    expect(error?.code).toBe("LICENSE_QUERY_FAILED");
    expect(asked).toEqual([`${REPEAT} x`]);
  });
});

describe("several steps", () => {
  test("are merged into one reading", async () => {
    await using service = createFakeService({ "/features": () => new Response("feature solver 4\nodd\n") });
    const outcome = await poll([asks("features", `${service.url}/features`), says("host", "server lic1")]);
    expect(outcome).toMatchObject({ error: null, reading: { cut: false, unparsedLines: 1 } });
    expect(featuresOf(outcome)).toEqual(["solver"]);
    expect(outcome.reading?.members).toMatchObject([{ host: "lic1", status: "up" }]);
    expect(rawOf(outcome)).toContain(
      `==> features: GET ${service.url}/features (200)\nfeature solver 4\nodd\n`,
    );
  });

  test.each([
    ["answers with an error", "/none", /users: 127\.0\.0\.1:\d+ answered 404 Not Found\./],
    ["answers something else", "/odd", /users: 127\.0\.0\.1:\d+ returned unrecognized output/],
  ])("a step that %s is reported as missing", async (_, path, words) => {
    await using service = createFakeService({ "/odd": () => new Response("<html>") });
    const outcome = await poll([says("features", "feature solver 4"), asks("users", service.url + path)]);
    expect(outcome.error).toBeNull();
    expect(featuresOf(outcome)).toEqual(["solver"]);
    expect(outcome.reading?.cut).toBe(true);
    expect(outcome.reading?.unparsed[0]?.text).toMatch(words);
  });

  test("if the first step fails, the query fails and the others do not run", async () => {
    await using service = createFakeService({ "/users": () => new Response("feature solver 4") });
    const steps = [asks("features", `${service.url}/none`), asks("users", `${service.url}/users`)];
    const outcome = await poll(steps);
    expect(outcome).toMatchObject({
      reading: null,
      error: { code: "LICENSE_QUERY_FAILED" },
      raw: { exitCode: 404 },
    });
    expect(outcome.error?.details).toBe("There is nothing here.");
    expect(service.asked.map(({ path }) => path)).toEqual(["/none"]);
  });
});

describe("a request", () => {
  test.each([
    ["TIMEOUT", "/hang", /did not answer within 0\.3 s/],
    ["LICENSE_PARSE_ERROR", "/odd", /returned unrecognized output/],
    ["LICENSE_PARSE_ERROR", "/empty", /returned an empty answer\.$/],
    ["LICENSE_QUERY_FAILED", "/long", /answered with more than 16 MiB/],
  ])("that fails is %s (%s)", async (code, path, words) => {
    await using service = createFakeService({
      "/hang": () => hanging("odd"),
      "/odd": () => new Response("odd"),
      "/empty": () => new Response(""),
      "/long": () => new Response(Buffer.alloc(2 ** 24 + 1, "x")),
    });
    const { error } = await poll([asks("", service.url + path)], {
      timeoutMs: path === "/hang" ? 300 : 20_000,
    });
    expect<string | undefined>(error?.code).toBe(code);
    expect(error?.message).toMatch(words);
  });

  test("whose answer hangs after usable numbers is a partial reading", async () => {
    await using service = createFakeService({ "/": () => hanging("feature solver 4\nfeature mes") });
    const outcome = await poll([asks("", service.url)], { timeoutMs: 300 });
    expect(outcome).toMatchObject({ error: null, reading: { cut: true } });
  });

  test("is not sent if its ca_file is missing", async () => {
    await using service = createFakeService({});
    const { error } = await poll([asks("", service.url)], { caFile: "/no/such/ca.pem" });
    expect(error?.message).toBe("The server's `ca_file` cannot be read (ENOENT).");
    expect(service.asked).toEqual([]);
  });
});

describe("a command", () => {
  test("gets stdin with secrets", async () => {
    const stdin = "feature solver 4\npassword {secret}\n";
    const step: CommandStep = { name: "", argv: [REPEAT], env: {}, stdin };
    const outcome = await poll([step], { secretFile });
    expect(featuresOf(outcome)).toEqual(["solver"]);
    expect(rawOf(outcome)).toBe("feature solver 4\npassword ***\n");
    expect(outcome.reading?.unparsed).toEqual([{ line: 2, text: "password ***" }]);
  });

  test("is read from the stream of its step only", async () => {
    const argv = [REPEAT, "--on-stderr", "feature solver 4"];
    expect(featuresOf(await poll([{ name: "", argv, env: {}, stream: "stderr" }]))).toEqual(["solver"]);
    expect((await poll([{ name: "", argv, env: {} }])).error?.code).toBe("LICENSE_PARSE_ERROR");
    const spam: CommandStep = { name: "", argv: ["/bin/sh", "-c", "yes >&2"], env: {}, stream: "stderr" };
    const outcome = await poll([spam]);
    expect(outcome.error?.message).toContain("printed more than 16 MiB");
    expect(outcome.raw.stderr).toHaveLength(2 ** 20);
  });

  test("is read in the configured encoding", async () => {
    const file = join(folder, "euc-kr.txt");
    writeFileSync(file, Buffer.from("feature \xb0\xa1 4\n", "latin1"));
    const step: CommandStep = { name: "", argv: ["/bin/cat", file], env: {} };
    const outcome = await poll([step], { encoding: "euc-kr" });
    expect(featuresOf(outcome)).toEqual(["가"]);
    expect(rawOf(outcome)).toBe("feature 가 4\n");
    expect(featuresOf(await poll([step]))).toEqual(["°¡"]);
  });
});

describe("a step with a secret", () => {
  const step: CommandStep = { name: "", argv: [REPEAT], env: {}, stdin: "{secret}" };

  test.each([
    ["none is named", null, "set the server's `secret_file`."],
    ["its file is not there", "/no/such/file", "The server's `secret_file` cannot be read (ENOENT)."],
  ])("does not run when %s", async (_, file, words) => {
    const asked: unknown[] = [];
    const run: PollerDeps["run"] = (request) => {
      asked.push(request);
      return runner.run(request);
    };
    const { error, raw } = await poll([step], { secretFile: file }, {}, { run });
    expect(error).toMatchObject({ code: "LICENSE_QUERY_FAILED", details: null });
    expect(error?.message).toEndWith(words);
    expect({ asked, exitCode: raw.exitCode }).toEqual({ asked: [], exitCode: null });
  });

  test("leaks it in no part of the outcome, in no form", async () => {
    const token = "t0ken-of-the-login";
    await using service = createFakeService({
      "/login": () => new Response(token),
      "/": ({ path, headers }) =>
        new Response(
          `feature solver 4\n${path}\n${headers.get("authorization")}\n${headers.get("x-token")}\n` +
            `${"y".repeat(495)}${SECRET}\n${JSON.stringify({ SECRET })}\n${`x${SECRET}`.repeat(100)}\n` +
            `error ${SECRET} ${token}\nserver ${SECRET}`,
        ),
    });
    const steps: Step[] = [
      {
        name: "web",
        login: { method: "POST", url: `${service.url}/login`, body: "{secret}", token: (answer) => answer },
        request: {
          method: "GET",
          url: service.url,
          query: { token: "{secret}" },
          headers: { authorization: "Basic {secret_base64}", "x-token": "{token}" },
        },
      },
      { ...step, name: "tool" },
      asks("none", `${service.url}/none`, { query: { token: "{secret}" } }),
    ];
    const outcome = await poll(steps, { secretFile });
    expect(service.asked[1]?.path).toBe(`/?${new URLSearchParams({ token: SECRET })}`);
    const said = JSON.stringify({ ...outcome, raw: { ...outcome.raw, stdout: rawOf(outcome), stderr: "" } });
    expect(said).toContain("***");
    const urlForms = [
      encodeURI(SECRET),
      encodeURIComponent(SECRET),
      `${new URLSearchParams({ SECRET })}`.slice(7),
    ];
    const base64 = Buffer.from(SECRET).toString("base64");
    for (const form of [SECRET, token, SECRET.slice(0, 6), ...urlForms, base64, base64.slice(0, 12)])
      expect(said.toLowerCase()).not.toContain(form.toLowerCase());
  });
});
