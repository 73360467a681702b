import { existsSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../free-port.ts";
import { gather, until } from "../until.ts";

/** Path of the binary. `bun run build` creates it. */
export const BINARY = join(import.meta.dir, "../../dist/licmond");

export { freePort, until };

/** Whether slow tests run: `scripts/test --slow`. */
export const SLOW = process.env.SLOW_TESTS === "1";

if (!existsSync(BINARY)) throw new Error(`${BINARY} does not exist: run \`bun run build\` or scripts/test`);

/** Environment of the binary. The caller's environment is not passed on; tests add what licmond needs. */
const BASE_ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8", TZ: "UTC" };
/** Maximum time to wait, as a guard against a hang; durations are not tested. */
const DEADLINE_MS = 60_000;

export interface RunOptions {
  /** Command to run instead of the binary. */
  readonly program?: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

/** Runs a command of the binary and waits for its end. */
export async function run(args: readonly string[], options: RunOptions = {}) {
  const { program = [BINARY], cwd = "/", env, stdin } = options;
  const child = Bun.spawn([...program, ...args], {
    cwd,
    env: { ...BASE_ENVIRONMENT, ...env },
    stdin: stdin === undefined ? "ignore" : new Blob([stdin]),
    stdout: "pipe",
    stderr: "pipe",
    timeout: DEADLINE_MS,
    killSignal: "SIGKILL",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { exitCode: child.exitCode, stdout, stderr };
}

export interface StartOptions extends Omit<RunOptions, "stdin"> {
  readonly args: readonly string[];
  /** Port in the arguments or the environment. */
  readonly port: number;
  /** TLS options of requests, if the binary serves HTTPS. */
  readonly tls?: { readonly ca?: string; readonly rejectUnauthorized?: boolean };
}

/** A running `serve` or `demo`. Disposing kills it and its children. */
export type Daemon = Awaited<ReturnType<typeof start>>;

/** Starts the binary and waits until it answers on its port. The error of a failed start contains the output. */
export async function start({ program = [BINARY], args, port, cwd = "/", env, tls }: StartOptions) {
  const child = Bun.spawn([...program, ...args], {
    cwd,
    env: { ...BASE_ENVIRONMENT, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const printed = gather(child.stdout, child.stderr);
  let isAsked = false;
  const end = async (signal: "SIGTERM" | "SIGKILL"): Promise<number | null> => {
    isAsked = true;
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), DEADLINE_MS);
    await Promise.all([child.exited, printed.done]);
    clearTimeout(timer);
    return child.exitCode;
  };

  const url = `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`;
  const overTls = tls === undefined ? {} : { tls };
  /** Sends a request; `path` starts with `/`. */
  const get = (path: string, key?: string, init: BunFetchRequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    if (key !== undefined) headers.set("X-API-Key", key);
    return fetch(url + path, { redirect: "manual", ...overTls, ...init, headers }).catch((cause) => {
      throw new Error(`${String(cause)}; licmond had printed:\n${printed.text()}`, { cause });
    });
  };
  try {
    await until(`licmond answers on port ${port}`, async () => {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error("licmond exited");
      return (await fetch(`${url}/api/ping`, overTls).catch(() => null))?.ok || undefined;
    });
  } catch (cause) {
    await end("SIGKILL");
    throw new Error(`${String(cause)}; licmond ${args.join(" ")} printed:\n${printed.text()}`);
  }
  return {
    pid: child.pid,
    url,
    /** Output so far, stdout and stderr together. */
    output: printed.text,
    get,
    /** Returns the JSON of an answer with any status. */
    json: async <Body>(...request: Parameters<typeof get>) => (await (await get(...request)).json()) as Body,
    /** Sends a POST, with a JSON body if there is one. */
    post(path: string, key?: string, body?: unknown) {
      const sent = { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
      return get(path, key, { method: "POST", ...(body !== undefined && sent) });
    },
    /** Stops it and returns the exit code, or null if it had to be killed. */
    stop: () => end("SIGTERM"),
    /** Sends SIGKILL, as a crash would. */
    kill: async () => void (await end("SIGKILL")),
    [Symbol.asyncDispose]: async () => {
      const how = child.exitCode ?? child.signalCode;
      if (how === null) await end("SIGKILL");
      else if (!isAsked)
        throw new Error(`licmond exited by itself (${how}); it had printed:\n${printed.text()}`);
    },
  };
}

/** Waits until the daemon has printed this, which may be later than an answer. */
export function untilPrinted({ output }: Pick<Daemon, "output">, what: string | RegExp): Promise<true> {
  const isPrinted = () => (typeof what === "string" ? output().includes(what) : what.test(output()));
  return until(`licmond prints ${what}`, () => isPrinted() || undefined);
}
