/** Runs the documents' tour of the demo as written: the demo from a clone, and curl. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EventSource } from "eventsource";
import { createAdministrator, type Shell } from "../docs/administrator.ts";
import { claimed, ROOT, titleOf } from "../docs/claims.ts";
import { commandsOf } from "../docs/markdown.ts";
import { difference } from "../docs/shape.ts";
import { gather, until } from "../until.ts";
import { freePort } from "./harness.ts";

/** Days of history, so that a question about last Tuesday has an answer. */
const DAYS = 8;
const KEY = /lmk_[a-z0-9]{12}_[A-Za-z0-9_-]{43}/;

const [first, ...tour] = claimed("demo");
if (first === undefined) throw new Error("no document starts the demo");

describe("the demo, as the documents show it", () => {
  let folder = "";
  let port = 0;
  let demo: ReturnType<Shell["start"]> | null = null;
  let key = "";

  /** A folder and environment with the port and the key of the documents. */
  const shell: Shell = {
    get memory() {
      return join(folder, "memory");
    },
    async run(script) {
      await using running = spawn(script);
      return { exitCode: await running.exited, output: running.output() };
    },
    start: spawn,
  };
  const administrator = createAdministrator(shell, (command) =>
    command.replaceAll("localhost:8080", `localhost:${port}`).replace(/^KEY=lmk_\w+…$/, `KEY=${key}`),
  );

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "licmond-readme-"));
    port = await freePort();
  });
  afterAll(async () => {
    await demo?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  test(titleOf(first), async () => {
    const [shown, ...others] = commandsOf(first);
    expect([shown?.command, others]).toEqual(["./scripts/demo", []]);
    const running = spawn(`exec ./scripts/demo --port ${port} --history ${DAYS}`);
    demo = running;
    let differs: string | null = null;
    await until(
      "the demo says what the document shows",
      () => {
        differs = difference(shown?.output ?? "", running.output(), true);
        return differs === null || undefined;
      },
      120_000,
    ).catch((error) => {
      throw new Error(`${error}\n${differs}`);
    });
    key = KEY.exec(running.output())?.[0] ?? "";
    expect(running.output()).toContain(`http://127.0.0.1:${port}\n`);
  });

  for (const block of tour) test(titleOf(block), () => administrator.follow(block));

  for (const block of claimed("page"))
    test(titleOf(block), async () => {
      const told: unknown[][] = [];
      const sources: EventSource[] = [];
      /** Behaves as in a page of the daemon's origin. */
      class PageEventSource extends EventSource {
        constructor(path: string) {
          super(new URL(path, `http://127.0.0.1:${port}/`));
          sources.push(this);
        }
      }
      try {
        new Function("EventSource", "key", "console", block.text)(PageEventSource, key, {
          log: (...words: unknown[]) => told.push(words),
        });
        const [words] = await until("the page hears something", () => (told.length > 0 ? told : undefined));
        expect(words?.length).toBeGreaterThan(0);
      } finally {
        for (const source of sources) source.close();
      }
    });
});

function spawn(script: string) {
  const child = Bun.spawn(["setsid", "bash", "-c", script], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, LANG: "C.UTF-8", TZ: "UTC" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const printed = gather(child.stdout, child.stderr);
  const ended = Promise.all([child.exited, printed.done]);
  return {
    output: printed.text,
    exited: ended.then(([exitCode]) => exitCode),
    async [Symbol.asyncDispose]() {
      // Kills the process group with all its children.
      if (child.exitCode === null && child.signalCode === null) {
        try {
          process.kill(-child.pid, "SIGTERM");
        } catch {
          child.kill("SIGTERM");
        }
      }
      await ended;
    },
  };
}
