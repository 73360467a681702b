import { join } from "node:path";

/** Time after which missing events count as lost. */
const LONGEST_MS = 60_000;

export interface Counts {
  readonly events: number;
  readonly closed: number;
  readonly p50: number;
  readonly p99: number;
}

/** Readers in a child process. */
export interface Readers extends AsyncDisposable {
  /**
   * Resets the counters. The promise `all` resolves after this many events, and rejects if they do not
   * arrive.
   */
  expect(events: number): Promise<{ readonly all: Promise<void> }>;
  stop(): Promise<Counts>;
}

export async function startReaders(port: number, path: string, key: string, count: number): Promise<Readers> {
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, "stream-readers.ts"), String(port), path, key, String(count)],
    { stdin: "pipe", stdout: "pipe", stderr: "inherit" },
  );
  const lines = linesOf(child.stdout);
  if ((await lines.next()).value !== "ready") throw new Error("the readers did not connect");
  return {
    async expect(events) {
      child.stdin.write(`expect ${events}\n`);
      await child.stdin.flush();
      if ((await lines.next()).value !== "counting") throw new Error("the readers do not count");
      return {
        all: within(
          LONGEST_MS,
          lines.next().then(() => {}),
          `${events} events did not come`,
        ),
      };
    },
    async stop() {
      child.stdin.write("stop\n");
      await child.stdin.flush();
      return JSON.parse((await lines.next()).value ?? "null") as Counts;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  return rest;
}

async function within<T>(ms: number, work: Promise<T>, otherwise: string): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${otherwise} within ${ms / 1000} s`)), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
