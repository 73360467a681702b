import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApiDocument, Operation } from "../http/document.ts";
import {
  compileGoClient,
  finished,
  goGenerator,
  listsOf,
  modelGenerator,
  writePythonClient,
  writeTypeScriptClient,
} from "./api-client.ts";
import { type Daemon, freePort, run, SLOW, start, until } from "./harness.ts";

const ROOT = join(import.meta.dir, "../..");

describe("on the demo's site", () => {
  let folder: string;
  let daemon: Daemon;
  let key: string;
  let document: ApiDocument;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "licmond-clients-"));
    const port = await freePort();
    daemon = await start({ args: ["demo", "--port", String(port), "--history", "1"], port });
    key = await until(
      "the admin key is printed",
      () => /lmk_[a-z0-9]{12}_[A-Za-z0-9_-]{43}/.exec(daemon.output())?.[0],
    );
    document = await daemon.json<ApiDocument>("/swagger/json");
    await until("every server is polled, and an alert fires", async () => {
      const { total } = await daemon.json<{ total: number }>("/api/licenses/alerts", key);
      const polls = await daemon.json<{ servers: { status: string }[] }>("/api/licenses/servers", key);
      return (total > 0 && polls.servers.every(({ status }) => status !== "unknown")) || undefined;
    });
  });
  afterAll(async () => {
    expect(await daemon.stop()).toBe(0);
    await rm(folder, { recursive: true });
  });

  test("`licmond openapi` prints the same document", async () => {
    const { stdout, stderr } = await run(["openapi"]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual(document);
  });

  test("ten servers of six managers are polled through real tool output", async () => {
    type Server = { id: string; manager: string; status: string; unparsedLines: number };
    const { servers } = await daemon.json<{ servers: Server[] }>("/api/licenses/servers", key);
    expect(servers).toHaveLength(10);
    expect(new Set(servers.map(({ manager }) => manager))).toEqual(
      new Set(["flexnet", "rlm", "dsls", "lmx", "rms", "lsdyna"]),
    );
    expect(servers.filter(({ unparsedLines }) => unparsedLines > 0)).toEqual([]);
    expect(servers.map(({ status }) => status)).toContain("degraded");
    const raw = `/api/licenses/servers/${servers[0]?.id}/raw`;
    const { argv } = await daemon.json<{ argv: string[] }>(raw, key);
    expect(argv.join(" ")).toContain("simulate");
  });

  /** Expected errors: the demo runs no commands, key ids are random, and a key cannot sign out. */
  const NOT_HERE = new Map([
    ["GET /api/execute", "AUTH_INSUFFICIENT"],
    ["POST /api/execute", "AUTH_INSUFFICIENT"],
    ["GET /api/keys/{id}", "NOT_FOUND"],
    ["DELETE /api/keys/{id}", "NOT_FOUND"],
    ["POST /api/signin", "AUTH_INVALID"],
    ["POST /api/signout", "CONFLICT"],
    ["DELETE /api/signins/{id}", "NOT_FOUND"],
  ]);

  test("every example succeeds as it is", async () => {
    const answers: unknown[] = [];
    for (const [path, item] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        if (path.startsWith("/ws/")) continue;
        const name = `${method.toUpperCase()} ${path}`;
        const stop = new AbortController();
        const response = await ask(method, path, operation, stop.signal);
        const text = response.status === 200 && path.includes("stream") ? "" : await response.text();
        stop.abort();
        const refusal = NOT_HERE.get(name);
        if (refusal === undefined ? !response.ok : !text.includes(`"${refusal}"`))
          answers.push([name, response.status, text]);
      }
    }
    expect(answers).toEqual([]);
  });

  /** Sends all examples of an operation in one request. */
  function ask(method: string, path: string, operation: Operation, signal: AbortSignal): Promise<Response> {
    const { parameters = [], requestBody } = operation;
    const query = new URLSearchParams();
    const headers = new Headers();
    if (requestBody) headers.set("content-type", "application/json");
    let target = path;
    for (const { name, in: where, example } of parameters) {
      if (where === "path") target = target.replace(`{${name}}`, encodeURIComponent(String(example)));
      else if (where === "header") headers.set(name, String(example));
      else for (const value of [example].flat()) query.append(name, String(value));
    }
    const body = requestBody && JSON.stringify(requestBody.content["application/json"]?.example);
    return daemon.get(`${target}?${query}`, key, {
      method: method.toUpperCase(),
      headers,
      signal,
      ...(body !== undefined && { body }),
    });
  }

  const RICH = ["servers", "features", "users", "stats", "sessions", "expirations", "alerts"];

  /**
   * Runs a client that prints the number of rows of each list. The client must read every list; the lists
   * in `RICH` are never empty.
   */
  async function reads(argv: readonly string[]): Promise<void> {
    const { exitCode, output } = await finished(argv);
    expect([exitCode, exitCode === 0 ? "" : output]).toEqual([0, ""]);
    const seen = JSON.parse(output.slice(output.indexOf("{"))) as Record<string, number>;
    const paths = listsOf(document).map(({ path }) => path);
    expect(Object.keys(seen).toSorted()).toEqual(paths.toSorted());
    expect(paths.length).toBeGreaterThan(12);
    for (const list of RICH) expect([list, seen[`/api/licenses/${list}`]]).not.toEqual([list, 0]);
  }

  test("a client of openapi-typescript and openapi-fetch compiles and reads every list", async () => {
    const program = await writeTypeScriptClient(folder, document);
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    expect(await finished([process.execPath, tsc, "-p", folder])).toEqual({ exitCode: 0, output: "" });
    await reads([process.execPath, program, daemon.url, key]);
  });

  test.if(SLOW && Bun.which("go") !== null)("a Go client of oapi-codegen compiles", async () => {
    const generator = await goGenerator();
    if (generator === null) return console.warn("SKIPPED: oapi-codegen could not be fetched");
    await compileGoClient(await mkdtemp(join(folder, "go-")), document, generator);
  });

  test("models of datamodel-code-generator read every list and know every field", async () => {
    const tools = await modelGenerator();
    if (tools === null) return console.warn("SKIPPED: datamodel-code-generator could not be fetched");
    const program = await writePythonClient(folder, document, tools.generator);
    await reads([tools.python, program, daemon.url, key]);
  });
});
