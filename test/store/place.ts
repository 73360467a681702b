import { Database } from "bun:sqlite";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { attachState } from "../../src/store/database/read-only.ts";
import { openStore, type Store, type StoreOptions } from "../../src/store/open/open.ts";
import { recordingLog } from "./recording-log.ts";

/**
 * Directories and stores for tests. Each file calls `afterEach(cleanUp)` itself, because a hook set here
 * would apply to one file.
 */

const cleanups: (() => void)[] = [];

export function cleanUp(): void {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
}

export function later(cleanup: () => void): void {
  cleanups.push(cleanup);
}

export function temporaryDirectory(within = tmpdir()): string {
  const directory = mkdtempSync(join(within, "licmond-store-"));
  later(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** In memory if possible, for tests that sync many files. */
export function quickDirectory(): string {
  return temporaryDirectory(existsSync("/dev/shm") ? "/dev/shm" : tmpdir());
}

export function open(directory: string, options: Partial<StoreOptions> = {}): Store {
  const store = openStore({ directory, log: recordingLog(), lockWaitMs: 0, ...options });
  later(() => store.close());
  return store;
}

/** Opens both databases of a store for reading, as the history worker does. */
export function openBoth({ path }: Store): Database {
  const sqlite = new Database(path, { readonly: true, strict: true });
  attachState(sqlite, path);
  later(() => sqlite.close());
  return sqlite;
}

/** Timers that a test fires. */
export function manualTimers() {
  const waiting: { readonly ms: number; readonly run: () => void }[] = [];
  return {
    waiting,
    after(ms: number, run: () => void) {
      const timer = { ms, run };
      waiting.push(timer);
      return () => {
        if (waiting.includes(timer)) waiting.splice(waiting.indexOf(timer), 1);
      };
    },
    /** Delay of the next timer in ms; null if no timer is set. */
    next: () => waiting[0]?.ms ?? null,
    fire: () => waiting.shift()?.run(),
  };
}

export const fixedClock = (start: number) => {
  const clock = {
    time: start,
    now: () => clock.time,
    advance(ms: number) {
      clock.time += ms;
    },
  };
  return clock;
};

/** Runs a script of this folder in another process. */
export function spawnScript(name: string, args: readonly string[], prefix: readonly string[] = []) {
  return Bun.spawn({
    cmd: [...prefix, process.execPath, join(import.meta.dir, name), ...args],
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env },
  });
}

export async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}

export async function firstLine({
  stdout,
}: {
  readonly stdout: ReadableStream<Uint8Array>;
}): Promise<string> {
  for await (const line of linesOf(stdout)) return line;
  return "";
}
