import { existsSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../free-port.ts";
import { gather, until } from "../until.ts";

/** Built by `bun run build`. */
export const BINARY = join(import.meta.dir, "../../dist/licmond");

export { freePort, until };

/** Whether slow tests run: `scripts/test --slow`. */
export const SLOW = process.env.SLOW_TESTS === "1";

if (!existsSync(BINARY)) throw new Error(`${BINARY} is not there: \`bun run build\`, or run scripts/test`);

/** The caller's environment is not passed on; tests set what licmond needs. */
const BASE_ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8", TZ: "UTC" };

/** Guards against a hang; durations are not tested. */
const DEADLINE_MS = 60_000;

export interface RunOptions {
  /** Command to run instead of the binary. */
  readonly program?: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command of the binary and waits for its end. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const child = Bun.spawn([...(options.program ?? [BINARY]), ...args], {
    cwd: options.cwd ?? "/",
    env: { ...BASE_ENVIRONMENT, ...options.env },
    stdin: options.stdin === undefined ? "ignore" : new Blob([options.stdin]),
    stdout: "pipe",
    stderr: "pipe",
    timeout: DEADLINE_MS,
    killSignal: "SIGKILL",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { exitCode: child.exitCode, stdout, stderr };
}

/** A running `serve` or `demo`. Disposing kills it and its children. */
export interface Daemon extends AsyncDisposable {
  readonly pid: number;
  /** `http://127.0.0.1:<port>`, or https */
  readonly url: string;
  /** Output so far, stdout and stderr together. */
  output(): string;
  /** Sends a request with a key; `path` starts with `/`. */
  get(path: string, key?: string, init?: BunFetchRequestInit): Promise<Response>;
  /** Returns the JSON of an answer with any status. */
  json<Body>(path: string, key?: string, init?: BunFetchRequestInit): Promise<Body>;
  /** Sends a POST, with a JSON body if there is one. */
  post(path: string, key?: string, body?: unknown): Promise<Response>;
  /** Stops it and returns the exit code, or null if it had to be killed. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL, as a crash would. */
  kill(): Promise<void>;
}

export interface StartOptions {
  /** Command to run instead of the binary. */
  readonly program?: readonly string[];
  readonly args: readonly string[];
  /** Port in the arguments or the environment. */
  readonly port: number;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** TLS options if it serves HTTPS. */
  readonly tls?: { readonly ca?: string; readonly rejectUnauthorized?: boolean };
}

/** Starts the binary and waits until it answers on its port. The error of a failed start contains the output. */
export async function start(options: StartOptions): Promise<Daemon> {
  const child = Bun.spawn([...(options.program ?? [BINARY]), ...options.args], {
    cwd: options.cwd ?? "/",
    env: { ...BASE_ENVIRONMENT, ...options.env },
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

  const url = `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${options.port}`;
  const tls = options.tls === undefined ? {} : { tls: options.tls };
  const daemon: Daemon = {
    pid: child.pid,
    url,
    output: printed.text,
    get: (path, key, init = {}) => {
      const headers = new Headers(init.headers);
      if (key !== undefined) headers.set("X-API-Key", key);
      return fetch(url + path, { redirect: "manual", ...tls, ...init, headers }).catch((cause) => {
        throw new Error(`${String(cause)}; licmond had printed:\n${printed.text()}`, { cause });
      });
    },
    json: async <Body>(...request: Parameters<Daemon["get"]>) =>
      (await (await daemon.get(...request)).json()) as Body,
    post: (path, key, body) =>
      daemon.get(path, key, {
        method: "POST",
        ...(body !== undefined && {
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify(body),
        }),
      }),
    stop: () => end("SIGTERM"),
    kill: async () => {
      await end("SIGKILL");
    },
    [Symbol.asyncDispose]: async () => {
      const how = child.exitCode ?? child.signalCode;
      if (how === null) await end("SIGKILL");
      else if (!isAsked)
        throw new Error(`licmond ended by itself (${how}); it had printed:\n${printed.text()}`);
    },
  };

  try {
    await until(`licmond answers on port ${options.port}`, async () => {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error("it ended instead");
      return (await fetch(`${url}/api/ping`, tls).catch(() => null))?.ok || undefined;
    });
  } catch (cause) {
    await end("SIGKILL");
    throw new Error(`${String(cause)}; licmond ${options.args.join(" ")} printed:\n${printed.text()}`);
  }
  return daemon;
}

/** Waits for output, which may come later than an answer. */
export function untilPrinted(daemon: Pick<Daemon, "output">, what: string | RegExp): Promise<true> {
  const is = (text: string) => (typeof what === "string" ? text.includes(what) : what.test(text));
  return until(`licmond prints ${what}`, () => is(daemon.output()) || undefined);
}
