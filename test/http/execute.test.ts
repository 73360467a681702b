import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createCommandRunner } from "../../src/collector/run-command.ts";
import type { ConfiguredCommand } from "../../src/config/config.ts";
import type { ErrorCode } from "../../src/domain/errors.ts";
import { processesLeft } from "../collector/processes.ts";
import { type Ask, type Bench, bench, checkout, executor, feature, picture } from "./make.ts";

const tools = join(import.meta.dir, "../fake-tools");
const runner = createCommandRunner({
  path: "/usr/bin:/bin",
  home: "/nonexistent",
  graceMs: 100,
  quietMs: 50,
});

const own = (
  name: string,
  argv: readonly string[],
  role: "operator" | "admin" = "operator",
): ConfiguredCommand => ({
  ...{ name, argv, role, timeoutMs: 5000 },
});
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

const body = (value: object): Ask => ({
  method: "POST",
  body: JSON.stringify(value),
  headers: { "content-type": "application/json" },
});
const ask = (at: Bench, value: object, key = at.keys.operator) =>
  at.get("/api/execute", { ...body(value), key });
const audited = (at: Bench) =>
  at.logged.filter(({ source }) => source === "audit").map(({ fields }) => fields);

describe("a command that is run", () => {
  test("answers what it said", async () => {
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

  test("is not cut off by a long output, which is", async () => {
    const response = await ask(site(), { command: "spam" });
    const answer = (await response.json()) as { stdout: string; truncated: boolean; exitCode: number };
    expect([answer.exitCode, answer.truncated, answer.stdout.length]).toEqual([0, true, 1024 * 1024]);
  });

  test("a dry run runs nothing", async () => {
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

  test("past its timeout dies with all that it started", async () => {
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

  test("no more than four at a time", async () => {
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

interface Refused {
  readonly what: string;
  readonly value: object;
  readonly as?: "viewer" | "operator" | "admin";
  readonly code: ErrorCode;
  readonly says?: RegExp;
  readonly details?: RegExp;
  readonly site?: () => Bench;
  /** What the audit line says of it. */
  readonly audit?: object;
}

const REFUSED: readonly Refused[] = [
  {
    what: "while it is off",
    value: { command: "status", server: "eda" },
    as: "admin",
    code: "AUTH_INSUFFICIENT",
    says: /execute\.enabled = true/,
    site: () => site(null),
  },
  {
    what: "to a viewer",
    value: { command: "status", server: "eda" },
    as: "viewer",
    code: "AUTH_INSUFFICIENT",
  },
  {
    what: "remove to an operator",
    value: { command: "remove", server: "eda", args: { handle: "101" } },
    code: "AUTH_INSUFFICIENT",
    says: /command remove needs a key with the role admin/,
    audit: { command: "remove", server: "eda", arguments: '{"handle":"101"}' },
  },
  { what: "reread to an operator", value: { command: "reread", server: "eda" }, code: "AUTH_INSUFFICIENT" },
  { what: "an admin's own to an operator", value: { command: "loud" }, code: "AUTH_INSUFFICIENT" },
  { what: "no command", value: {}, code: "MISSING_FIELD", says: /"command"/ },
  {
    what: "an unknown command",
    value: { command: "rm" },
    code: "INVALID_FIELD",
    says: /status, diagnose, reread, remove, exit, say/,
    audit: { command: "rm" },
  },
  { what: "a command of Object", value: { command: "__proto__" }, code: "INVALID_FIELD" },
  { what: "no server", value: { command: "status" }, code: "MISSING_FIELD", says: /"server"/ },
  { what: "an unknown server", value: { command: "status", server: "nobody" }, code: "NOT_FOUND" },
  {
    what: "an unknown server that is not needed",
    value: { command: "exit", server: "nobody" },
    code: "NOT_FOUND",
  },
  {
    what: "an unknown field",
    value: { command: "exit", shell: true },
    code: "INVALID_FIELD",
    says: /"shell"/,
  },
  {
    what: "an unknown argument",
    value: { command: "exit", args: { port: "1" } },
    code: "INVALID_FIELD",
    says: /feature, user/,
  },
  {
    what: "an argument it does not take",
    value: { command: "status", server: "eda", args: { user: "ada" } },
    code: "INVALID_FIELD",
    says: /takes no arguments/,
  },
  {
    what: "a missing argument",
    value: { command: "say", server: "eda" },
    code: "MISSING_FIELD",
    says: /args\.feature/,
  },
  {
    what: "an empty argument",
    value: { command: "say", server: "eda", args: { feature: "" } },
    code: "INVALID_FIELD",
  },
  {
    what: "a blank argument",
    value: { command: "say", server: "eda", args: { feature: " " } },
    code: "INVALID_FIELD",
  },
  {
    what: "an option",
    value: { command: "say", server: "eda", args: { feature: "-e" } },
    code: "INVALID_FIELD",
    says: /option/,
  },
  {
    what: "a line end",
    value: { command: "say", server: "eda", args: { feature: "a\nb" } },
    code: "INVALID_FIELD",
    says: /control/,
  },
  {
    what: "a null byte",
    value: { command: "say", server: "eda", args: { feature: "a\0b" } },
    code: "INVALID_FIELD",
  },
  {
    what: "half a character",
    value: { command: "say", server: "eda", args: { feature: "\ud800" } },
    code: "INVALID_FIELD",
  },
  {
    what: "a long argument",
    value: { command: "say", server: "eda", args: { feature: "x".repeat(257) } },
    code: "INVALID_FIELD",
  },
  { what: "a number", value: { command: "say", server: "eda", args: { feature: 7 } }, code: "INVALID_FIELD" },
  {
    what: "a short timeout",
    value: { command: "exit", timeoutMs: 999 },
    code: "INVALID_FIELD",
    says: /from 1000 to 600000/,
  },
  { what: "a long timeout", value: { command: "exit", timeoutMs: 600_001 }, code: "INVALID_FIELD" },
  {
    what: "a checkout that nobody has",
    value: { command: "remove", server: "eda", args: { handle: "999" } },
    as: "admin",
    code: "NOT_FOUND",
  },
  {
    what: "an exit code",
    value: { command: "exit" },
    code: "COMMAND_EXECUTION_FAILED",
    says: /exit code 241/,
    details: /^nothing to complain about$/,
    audit: { command: "exit" },
  },
  {
    what: "a crash",
    value: { command: "crash" },
    code: "COMMAND_EXECUTION_FAILED",
    says: /SIGSEGV/,
    details: /begun/,
  },
  {
    what: "a tool that is not there",
    value: { command: "gone" },
    code: "COMMAND_EXECUTION_FAILED",
    says: /could not be started/,
    details: /\/nowhere\/tool/,
  },
  { what: "a timeout", value: { command: "hang", timeoutMs: 1000 }, code: "COMMAND_TIMEOUT" },
];

describe("a command that is refused, or fails", () => {
  test.each(REFUSED.map((one) => [`${one.code}: ${one.what}`, one] as const))("%s", async (_, one) => {
    const at = one.site?.() ?? site();
    const response = await ask(at, one.value, at.keys[one.as ?? "operator"]);
    const answer = (await response.json()) as { code: string; message: string; details?: string };
    expect(answer.code).toBe(one.code);
    if (one.says) expect(answer.message).toMatch(one.says);
    if (one.details) expect(answer.details ?? "").toMatch(one.details);
    const last = audited(at).at(-1);
    expect(last).toMatchObject({ outcome: one.code, by: expect.any(String), address: "local", ...one.audit });
  });

  test("a broken body is written down too", async () => {
    const at = site();
    const broken = { method: "POST", body: "{", headers: { "content-type": "application/json" } };
    expect((await at.get("/api/execute", { ...broken, key: at.keys.admin })).status).toBe(400);
    expect(audited(at)).toMatchObject([{ outcome: "INVALID_JSON" }]);
  });

  test("without a key it is 401 before anything else, and off before the body", async () => {
    const at = site(null);
    expect((await at.get("/api/execute", { ...body({}), key: null })).status).toBe(401);
    const broken = { method: "POST", body: "{", headers: { "content-type": "application/json" } };
    expect((await at.get("/api/execute", { ...broken, key: at.keys.admin })).status).toBe(403);
  });
});

describe("the trail", () => {
  test("of rescans, keys and clearing names the key, the address and the request", async () => {
    const cleared: (number | null)[] = [];
    const at = bench({
      logs: {
        ...{
          recent: () => ({ rows: [], total: 0 }),
          search: () => ({ rows: [], total: 0 }),
          stats: () => Promise.reject() as never,
        },
        clear: (before) => Promise.resolve(cleared.push(before)),
      },
    });
    const key = at.keys.admin;
    const as = (path: string, more: Ask) =>
      at.get(path, { ...more, key, headers: { ...more.headers, "x-request-id": "trace-7" } });
    await as("/api/licenses/rescan", { method: "POST" });
    await as("/api/licenses?refresh=true&server=eda", {});
    await as("/api/licenses/rescan", body({ servers: ["nobody"] }));
    const made = await as("/api/keys", body({ name: "wall", role: "viewer", anonymize: true }));
    const { id, key: secret } = (await made.json()) as { id: string; key: string };
    await as(`/api/keys/${id}`, { method: "DELETE" });
    await as("/api/logs/clear", body({ before: "2026-01-01T00:00:00Z" }));
    const who = { by: "key000000003", address: "local", requestId: "trace-7" };
    const lines = at.logged.filter(({ source }) => source === "audit");
    expect(lines.map(({ level, message, fields }) => [level, message, fields])).toEqual([
      ["info", "Rescan", { ...who, outcome: "ok", servers: "all", polled: 1, failed: 0 }],
      ["info", "Rescan", { ...who, outcome: "ok", servers: "eda", polled: 1, failed: 0 }],
      ["warn", "Rescan", { ...who, outcome: "NOT_FOUND", servers: "nobody", durationMs: expect.any(Number) }],
      [
        "info",
        "API key created",
        { ...who, outcome: "ok", keyId: id, name: "wall", role: "viewer", anonymize: true },
      ],
      ["info", "API key revoked", { ...who, outcome: "ok", keyId: id }],
      [
        "info",
        "Logs were cleared",
        { ...who, outcome: "ok", before: "2026-01-01T00:00:00.000Z", cleared: 1 },
      ],
    ]);
    expect(JSON.stringify(at.logged)).not.toContain(secret);
  });

  test("of reloads, refused ones too", async () => {
    for (const [outcome, problems, status, code] of [
      ["applied", [], 200, "ok"],
      ["refused", ["licmond.toml:3: http.port takes an integer"], 409, "CONFLICT"],
    ] as const) {
      const { daemon } = bench().deps;
      const needRestart = outcome === "applied" ? ["http.port"] : [];
      const at = bench({ daemon: { ...daemon, reload: () => ({ outcome, problems, needRestart }) } });
      expect((await at.get("/api/reload", { method: "POST", key: at.keys.operator })).status).toBe(403);
      const response = await at.get("/api/reload", { method: "POST", key: at.keys.admin });
      expect(response.status).toBe(status);
      expect(await response.json()).toMatchObject(
        outcome === "applied" ? { outcome, needRestart } : { code, details: problems[0] ?? "" },
      );
      expect(audited(at)).toMatchObject([{ outcome: code, by: "key000000003" }]);
    }
  });

  test("a key that lacks a permission is noted", async () => {
    const at = bench();
    await at.get("/api/keys");
    expect(at.logged.filter(({ source }) => source === "auth")).toEqual([
      {
        level: "warn",
        source: "auth",
        message: "API key lacks a permission",
        fields: {
          keyId: "key000000001",
          needed: "keys",
          address: "local",
          requestId: expect.any(String),
          path: "/api/keys",
        },
      },
    ]);
  });
});
