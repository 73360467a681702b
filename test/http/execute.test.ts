import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Ajv } from "ajv";
import { createCommandRunner } from "../../src/collector/run-command.ts";
import type { ConfiguredCommand } from "../../src/config/config.ts";
import type { ErrorCode } from "../../src/domain/errors.ts";
import { processesLeft } from "../collector/processes.ts";
import { type Bench, bench, checkout, executor, feature, monitored, picture } from "./make.ts";

const tools = join(import.meta.dir, "../fake-tools");
const LIMITS = { path: "/usr/bin:/bin", home: "/nonexistent", graceMs: 100, quietMs: 50 };
const runner = createCommandRunner(LIMITS);

const own = (name: string, argv: readonly string[], role: "operator" | "admin" = "operator") => {
  return { name, argv, role, timeoutMs: 5000 };
};
const COMMANDS = [
  own("exit", [join(tools, "exit-241")]),
  own("say", ["/bin/echo", "{feature}", "{server}", "-z", "hunter2"]),
  own("spam", ["/usr/bin/head", "-c", "1100000", "/dev/zero"]),
  own("loud", ["/usr/bin/env", "sleep", "0.01"], "admin"),
  own("hang", [join(tools, "hang")]),
  own("gone", ["/nowhere/tool"]),
  own("crash", [join(tools, "die-by-signal")]),
];

function site(commands: readonly ConfiguredCommand[] | null = COMMANDS, run = runner.run): Bench {
  const at = bench({ execute: executor(commands, run) });
  const checkouts = [checkout("ada", { handle: "101" }), checkout("eve", { handle: "102" })];
  at.show(picture("eda", { features: [feature("solver", { checkouts })] }));
  return at;
}

const ask = (at: Bench, value: object, key = at.keys.operator) => at.post("/api/execute", value, key);
const audited = (at: Bench) => at.linesOf("audit").map(({ fields }) => fields);
const broken = { method: "POST", body: "{", headers: { "content-type": "application/json" } };

describe("the list of commands", () => {
  const list = async (at: Bench, key = at.keys.viewer) => {
    const response = await at.get("/api/execute", { key });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  test("is hidden from an anonymized key", async () => {
    const at = site();
    expect((await list(at, at.keys.anonymous)).status).toBe(403);
  });

  test.each<["viewer" | "operator" | "admin", string[]]>([
    ["viewer", []],
    ["operator", ["status", "diagnose", "exit", "say", "spam", "hang", "gone", "crash"]],
    ["admin", ["status", "diagnose", "reread", "remove", ...COMMANDS.map(({ name }) => name)]],
  ])("%s may run %p", async (role, names) => {
    const at = site();
    const { body } = await list(at, at.keys[role]);
    const commands = body.commands as { command: string; allowed: boolean }[];
    expect(commands.length).toBe(4 + COMMANDS.length);
    expect(commands.flatMap(({ command, allowed }) => (allowed ? command : []))).toEqual(names);
    expect(JSON.stringify(body)).not.toMatch(/hunter2|fake-tools/);
    expect(at.linesOf("audit")).toEqual([]);
  });

  test("has JSON Schemas that can validate a request", async () => {
    const { body } = await list(site());
    const byName = Object.fromEntries(
      (body.commands as { command: string }[]).map((one) => [one.command, one]),
    );
    expect(byName.say).toMatchObject({ role: "operator", needsServer: true, timeoutMs: 5000 });
    expect(byName.exit).toMatchObject({ needsServer: false, args: { properties: {}, required: [] } });
    const takes = (command: string, args: object) =>
      new Ajv().compile((byName[command] as unknown as { args: object }).args)(args);
    for (const [command, args, taken] of [
      ["status", {}, true],
      ["status", { feature: "x" }, false],
      ["say", { feature: "x" }, true],
      ["say", { feature: "-x" }, false],
      ["say", {}, false],
      ["remove", { handle: "1" }, true],
      ["remove", { feature: "f", user: "u", host: "h", display: "d" }, true],
      ["remove", { feature: "f" }, false],
      ["remove", { handle: 1 }, false],
    ] as const)
      expect([command, args, takes(command, args)]).toEqual([command, args, taken]);
  });

  test("is hidden while execute is off", async () => {
    const { status, body } = await list(site(null));
    expect([status, body.code]).toEqual([403, "AUTH_INSUFFICIENT"]);
    expect(body.message).toContain("execute.enabled = true");
  });
});

describe("a command", () => {
  test("returns its output", async () => {
    const at = site();
    const response = await ask(at, { command: "say", server: "eda", args: { feature: "$(id); 'x'" } });
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        command: "say",
        argv: ["/bin/echo", "$(id); 'x'", "eda", "-z", "***"],
        exitCode: 0,
        stdout: "$(id); 'x' eda -z hunter2\n",
        stderr: "",
        truncated: false,
        durationMs: expect.any(Number),
      },
    ]);
    const said = { command: "say", server: "eda", arguments: '{"feature":"$(id); \'x\'"}', dryRun: false };
    const who = { by: "key000000002", address: "local", requestId: expect.any(String) };
    expect(audited(at)).toEqual([
      { ...said, ...who, argv: expect.stringContaining("***"), outcome: "started" },
      {
        ...said,
        ...who,
        argv: expect.any(String),
        outcome: "ok",
        exitCode: 0,
        durationMs: expect.any(Number),
      },
    ]);
    expect(JSON.stringify(at.logged)).not.toContain("hunter2");
  });

  test("is not stopped by a long output, which is truncated", async () => {
    const response = await ask(site(), { command: "spam" });
    const answer = (await response.json()) as { stdout: string; truncated: boolean; exitCode: number };
    expect([answer.exitCode, answer.truncated, answer.stdout.length]).toEqual([0, true, 1024 * 1024]);
  });

  test("is not run by a dry run", async () => {
    const at = site(COMMANDS, () => Promise.reject(new Error("it was run")));
    const response = await ask(
      at,
      { command: "remove", server: "eda", args: { handle: "102" }, dryRun: true },
      at.keys.admin,
    );
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        command: "remove",
        argv: ["/opt/tools/lmutil", "lmremove", "-c", "27000@lic1", "-h", "solver", "lic1", "27000", "102"],
        dryRun: true,
      },
    ]);
    expect(audited(at)).toMatchObject([{ command: "remove", outcome: "dry run", by: "key000000003" }]);
  });

  test("is killed after its timeout, with its children", async () => {
    const mark = `LICMOND_EXECUTE_${process.pid}-end`;
    const fork = own("fork", ["/usr/bin/env", `MARK=${mark}`, join(tools, "fork-and-hang")]);
    const at = site([fork]);
    const response = await ask(at, { command: "fork", timeoutMs: 1000 });
    expect([response.status, await response.json()]).toMatchObject([
      504,
      { code: "COMMAND_TIMEOUT", message: expect.stringContaining("within 1 s") },
    ]);
    expect(await processesLeft(mark)).toEqual([]);
    expect(audited(at)).toMatchObject([{ outcome: "started" }, { outcome: "COMMAND_TIMEOUT" }]);
  });

  test("is decoded by its server's encoding", async () => {
    const at = site([own("korean", ["/usr/bin/printf", "\\260\\241 %s", "{server}"])]);
    at.show(picture("eda", { server: monitored("eda", { encoding: "euc-kr" }) }));
    const response = await ask(at, { command: "korean", server: "eda" });
    expect(await response.json()).toMatchObject({ stdout: "가 eda" });
  });

  test("runs at most four at a time", async () => {
    const waiting: (() => void)[] = [];
    const at = site(COMMANDS, async (request) => {
      await new Promise<void>((resume) => void waiting.push(resume));
      return runner.run(request);
    });
    const under = Array.from({ length: 4 }, () => ask(at, { command: "loud" }, at.keys.admin));
    while (waiting.length < 4) await Bun.sleep(1);
    const refused = await ask(at, { command: "loud" }, at.keys.admin);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    for (const resume of waiting) resume();
    expect((await Promise.all(under)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const again = ask(at, { command: "loud" }, at.keys.admin);
    while (waiting.length < 5) await Bun.sleep(1);
    waiting[4]?.();
    expect((await again).status).toBe(200);
  });
});

interface Expected {
  readonly as?: "viewer" | "operator" | "admin";
  readonly says?: RegExp;
  readonly details?: RegExp;
  /** Expected audit line. */
  readonly audit?: object;
  readonly site?: () => Bench;
}

const status = { command: "status", server: "eda" };
const remove = (handle: string) => ({ command: "remove", server: "eda", args: { handle } });
const say = (feature: unknown) => ({ command: "say", server: "eda", args: { feature } });
const EXIT = { command: "exit" };
const long = (timeoutMs: number) => ({ ...EXIT, timeoutMs });
const GONE = { says: /could not be started/, details: /\/nowhere\/tool/ };
const OFF = { as: "admin", says: /execute\.enabled = true/, site: () => site(null) } as const;
const NEEDS_ADMIN = {
  says: /command remove needs a key with the role admin/,
  audit: { ...status, command: "remove", arguments: '{"handle":"101"}' },
};
const UNKNOWN = { says: /status, diagnose, reread, remove, exit, say/, audit: { command: "rm" } };
const EXITED = { says: /code 241/, details: /^nothing to complain about$/, audit: { command: "exit" } };

const REFUSED: readonly [what: string, code: ErrorCode, body: object, Expected?][] = [
  ["while it is off", "AUTH_INSUFFICIENT", status, OFF],
  ["to a viewer", "AUTH_INSUFFICIENT", status, { as: "viewer" }],
  ["remove to an operator", "AUTH_INSUFFICIENT", remove("101"), NEEDS_ADMIN],
  ["reread to an operator", "AUTH_INSUFFICIENT", { ...status, command: "reread" }],
  ["an admin's own to an operator", "AUTH_INSUFFICIENT", { command: "loud" }],
  ["no command", "MISSING_FIELD", {}, { says: /"command"/ }],
  ["an unknown command", "INVALID_FIELD", { command: "rm" }, UNKNOWN],
  ["a command of Object", "INVALID_FIELD", { command: "__proto__" }],
  ["no server", "MISSING_FIELD", { command: "status" }, { says: /"server"/ }],
  ["an unknown server", "NOT_FOUND", { command: "status", server: "nobody" }],
  ["an unknown server that is not needed", "NOT_FOUND", { command: "exit", server: "nobody" }],
  ["an unknown field", "INVALID_FIELD", { command: "exit", shell: true }, { says: /"shell"/ }],
  ["an unknown argument", "INVALID_FIELD", { ...EXIT, args: { port: "1" } }, { says: /feature, user/ }],
  ["arguments to status", "INVALID_FIELD", { ...status, args: { user: "a" } }, { says: /no arguments/ }],
  ["a missing argument", "MISSING_FIELD", { ...status, command: "say" }, { says: /args\.feature/ }],
  ["an empty argument", "INVALID_FIELD", say("")],
  ["a blank argument", "INVALID_FIELD", say(" ")],
  ["an option", "INVALID_FIELD", say("-e"), { says: /option/ }],
  ["a line end", "INVALID_FIELD", say("a\nb"), { says: /control/ }],
  ["a null byte", "INVALID_FIELD", say("a\0b")],
  ["half a character", "INVALID_FIELD", say("\ud800")],
  ["a long argument", "INVALID_FIELD", say("x".repeat(257))],
  ["a number", "INVALID_FIELD", say(7)],
  ["a short timeout", "INVALID_FIELD", long(999), { says: /from 1000 to 600000/ }],
  ["a long timeout", "INVALID_FIELD", long(600_001)],
  ["a checkout that nobody has", "NOT_FOUND", remove("999"), { as: "admin" }],
  ["an exit code", "COMMAND_EXECUTION_FAILED", { command: "exit" }, EXITED],
  ["a crash", "COMMAND_EXECUTION_FAILED", { command: "crash" }, { says: /SIGSEGV/, details: /begun/ }],
  ["a tool that is not there", "COMMAND_EXECUTION_FAILED", { command: "gone" }, GONE],
  ["a timeout", "COMMAND_TIMEOUT", { command: "hang", timeoutMs: 1000 }],
];

describe("a command that is refused or fails", () => {
  test.each(REFUSED)("%s: %s", async (_, code, body, expected = {}) => {
    const at = expected.site?.() ?? site();
    const response = await ask(at, body, at.keys[expected.as ?? "operator"]);
    const answer = (await response.json()) as { code: string; message: string; details?: string };
    expect(answer.code).toBe(code);
    if (expected.says) expect(answer.message).toMatch(expected.says);
    if (expected.details) expect(answer.details ?? "").toMatch(expected.details);
    const last = audited(at).at(-1);
    const by = expect.any(String);
    expect(last).toMatchObject({ outcome: code, by, address: "local", ...expected.audit });
  });

  test("a broken body is audited too", async () => {
    const at = site();
    expect(await at.status("/api/execute", { ...broken, key: at.keys.admin })).toBe(400);
    expect(audited(at)).toMatchObject([{ outcome: "INVALID_JSON" }]);
  });

  test("without a key it is 401 first, and disabled before the body is read", async () => {
    const at = site(null);
    expect((await at.post("/api/execute", {}, null)).status).toBe(401);
    expect(await at.status("/api/execute", { ...broken, key: at.keys.admin })).toBe(403);
  });
});

describe("the audit trail", () => {
  test("of rescans, keys and clearing has the key, the address and the request", async () => {
    const cleared: (number | null)[] = [];
    const at = bench({ logs: { clear: (before) => Promise.resolve(cleared.push(before)) } });
    const as = (method: string, path: string, body?: object) =>
      at.get(path, {
        method,
        key: at.keys.admin,
        headers: { "x-request-id": "trace-7", "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    await as("POST", "/api/licenses/rescan");
    await as("GET", "/api/licenses?refresh=true&server=eda");
    await as("POST", "/api/licenses/rescan", { servers: ["nobody"] });
    const made = await as("POST", "/api/keys", { name: "wall", role: "viewer", anonymize: true });
    const { id, key: secret } = (await made.json()) as { id: string; key: string };
    await as("DELETE", `/api/keys/${id}`);
    await as("POST", "/api/logs/clear", { before: "2026-01-01T00:00:00Z" });
    const who = { by: "key000000003", address: "local", requestId: "trace-7" };
    const ok = { ...who, outcome: "ok" };
    expect(at.linesOf("audit").map(({ level, message, fields }) => [level, message, fields])).toEqual([
      ["info", "Rescan", { ...ok, servers: "all", polled: 1, failed: 0 }],
      ["info", "Rescan", { ...ok, servers: "eda", polled: 1, failed: 0 }],
      ["warn", "Rescan", { ...who, outcome: "NOT_FOUND", servers: "nobody", durationMs: expect.any(Number) }],
      ["info", "API key created", { ...ok, keyId: id, name: "wall", role: "viewer", anonymize: true }],
      ["info", "API key revoked", { ...ok, keyId: id }],
      ["info", "Logs were cleared", { ...ok, before: "2026-01-01T00:00:00.000Z", cleared: 1 }],
    ]);
    expect(JSON.stringify(at.logged)).not.toContain(secret);
  });

  test("of reloads, also of refused ones", async () => {
    for (const [outcome, problems, status, code] of [
      ["applied", [], 200, "ok"],
      ["refused", ["licmond.toml:3: http.port takes an integer"], 409, "CONFLICT"],
    ] as const) {
      const { daemon } = bench().deps;
      const needRestart = outcome === "applied" ? ["http.port"] : [];
      const at = bench({ daemon: { ...daemon, reload: () => ({ outcome, problems, needRestart }) } });
      expect(await at.status("/api/reload", { method: "POST", key: at.keys.operator })).toBe(403);
      expect(await at.answer("/api/reload", { method: "POST", key: at.keys.admin })).toMatchObject({
        status,
        body: outcome === "applied" ? { outcome, needRestart } : { code, details: problems[0] ?? "" },
      });
      expect(audited(at)).toMatchObject([{ outcome: code, by: "key000000003" }]);
    }
  });

  test("records a key that lacks a permission", async () => {
    const at = bench();
    await at.get("/api/keys");
    expect(at.linesOf("auth")).toMatchObject([{ level: "warn", message: "API key lacks a permission" }]);
    expect(at.linesOf("auth")[0]?.fields).toEqual({
      keyId: "key000000001",
      needed: "keys",
      address: "local",
      requestId: expect.any(String),
      path: "/api/keys",
    });
  });
});
