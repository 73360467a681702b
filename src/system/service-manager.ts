import type { dlopen as Dlopen } from "bun:ffi";
import { constants } from "node:os";
import { codeOf, messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import type { ServerPicture } from "../domain/picture.ts";
import { countOf, escapeControls } from "../domain/plain-text.ts";
import { repeat } from "../domain/time/clock.ts";

/** Socket of the service manager: systemd's, or another one with the protocol sd_notify(3). */
type NotifySocket = Awaited<ReturnType<typeof openNotifySocket>>;

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const CLOCK_MONOTONIC = 1;
/** Size of `sun_path` in unix(7), including the terminating zero. */
const MAX_PATH_BYTES = 108;

/**
 * Opens `$NOTIFY_SOCKET`: a path, or `@name` in the abstract namespace. Calls libc, because Bun has no UNIX
 * datagram sockets. bun:ffi is experimental and large, so it is loaded only if there is such a socket.
 * Throws if the service manager cannot be reached.
 */
export async function openNotifySocket(name: string) {
  const address = unixAddress(name);
  if (address === null) throw new Error("must be a path, or @ and a name, of at most 107 bytes");
  const { dlopen, ptr } = await import("bun:ffi");
  const { socket, sendto, close, clock_gettime: gettime } = openLibc(dlopen);
  const descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) throw new Error("cannot create a socket");
  let open = true;
  return {
    /**
     * Sends `NAME=value` lines in one datagram. Returns false if nothing reads the socket or if the queue is
     * full. Never blocks.
     */
    send(lines: readonly string[]): boolean {
      if (!open) return false;
      const bytes = new TextEncoder().encode(lines.join("\n"));
      const flags = MSG_DONTWAIT | MSG_NOSIGNAL;
      const sent = sendto(descriptor, ptr(bytes), bytes.length, flags, ptr(address), address.length);
      return Number(sent) === bytes.length;
    },
    /** Returns CLOCK_MONOTONIC, which reloads under `Type=notify-reload` require; null if unknown. */
    monotonicMicroseconds(): bigint | null {
      // `struct timespec` on 64-bit systems: seconds and nanoseconds, eight bytes each.
      const time = new BigInt64Array(2);
      if (gettime(CLOCK_MONOTONIC, ptr(time)) !== 0) return null;
      const [seconds = 0n, nanoseconds = 0n] = time;
      return seconds * 1_000_000n + nanoseconds / 1000n;
    },
    close() {
      if (open) close(descriptor);
      open = false;
    },
  };
}

/** Builds `struct sockaddr_un`; null for an invalid name. Abstract names begin with a zero byte and are not terminated. */
export function unixAddress(name: string): Uint8Array | null {
  const abstract = name.startsWith("@");
  if ((!abstract && !name.startsWith("/")) || name.includes("\0")) return null;
  const path = new TextEncoder().encode(abstract ? `\0${name.slice(1)}` : `${name}\0`);
  if (path.length > MAX_PATH_BYTES || path.length < 2) return null;
  const address = new Uint8Array(2 + path.length);
  new DataView(address.buffer).setUint16(0, AF_UNIX, true);
  address.set(path, 2);
  return address;
}

function openLibc(dlopen: typeof Dlopen) {
  const machine = process.arch === "arm64" ? "aarch64" : "x86_64";
  const symbols = {
    socket: { args: ["int", "int", "int"], returns: "int" },
    sendto: { args: ["int", "ptr", "u64", "int", "ptr", "u32"], returns: "i64" },
    close: { args: ["int"], returns: "int" },
    clock_gettime: { args: ["int", "ptr"], returns: "int" },
  } as const;
  try {
    return dlopen("libc.so.6", symbols).symbols;
  } catch {
    return dlopen(`libc.musl-${machine}.so.1`, symbols).symbols;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

interface ServiceManagerDeps {
  readonly socket: NotifySocket;
  /** Watchdog timeout of the service manager; null = no watchdog. */
  readonly watchdogMs: number | null;
  readonly log: Log;
  readonly repeat: (ms: number, work: () => void) => () => void;
}

const STATUS_MS = 3_000;
const RETRY_MS = 250;
const RETRIES = 120;

/** Connects to the service manager in $NOTIFY_SOCKET; null if unset or if the socket cannot be opened. */
export async function connectServiceManager(
  environment: Environment,
  log: Log,
  open: (name: string) => Promise<NotifySocket> = openNotifySocket,
): Promise<ServiceManager | null> {
  const name = environment.NOTIFY_SOCKET ?? "";
  if (name === "") return null;
  try {
    const socket = await open(name);
    return createServiceManager({ socket, log, watchdogMs: watchdogOf(environment, process.pid), repeat });
  } catch (error) {
    log.warn("Cannot notify the service manager", { socket: name, error: messageOf(error) });
    return null;
  }
}

/**
 * Returns `$WATCHDOG_USEC` in milliseconds; null if it is unset or meant for another process
 * (`$WATCHDOG_PID`).
 */
export function watchdogOf({ WATCHDOG_USEC, WATCHDOG_PID }: Environment, pid: number): number | null {
  if (WATCHDOG_PID !== undefined && WATCHDOG_PID !== "" && WATCHDOG_PID !== String(pid)) return null;
  if (!/^[1-9]\d{0,15}$/.test(WATCHDOG_USEC ?? "")) return null;
  return Number(WATCHDOG_USEC) / 1000;
}

export type ServiceManager = ReturnType<typeof createServiceManager>;

/** Reports the daemon's state to the service manager (systemd with `Type=notify`). Never throws or blocks. */
export function createServiceManager({ socket, watchdogMs, log, repeat }: ServiceManagerDeps) {
  let status: (() => string) | null = null;
  let shown = "";
  let waiting: { readonly lines: readonly string[]; tries: number }[] = [];
  let warned = false;
  let endRetries: (() => void) | null = null;
  const ends: (() => void)[] = [];

  const offer = (lines: readonly string[]): boolean => {
    const taken = socket.send(lines);
    if (!taken && !warned) {
      warned = true;
      log.warn("The service manager does not accept a message", { message: lines.join(" ") });
    }
    return taken;
  };

  const tell = (...lines: string[]) => {
    if (waiting.length === 0 && offer(lines)) return;
    waiting.push({ lines, tries: 0 });
    endRetries ??= repeat(RETRY_MS, retry);
  };

  function retry(): void {
    for (let [next] = waiting; next !== undefined; [next] = waiting) {
      next.tries += 1;
      if (!offer(next.lines) && next.tries < RETRIES) return;
      waiting = waiting.slice(1);
    }
    endRetries?.();
    endRetries = null;
  }

  const showStatus = () => {
    if (status === null || waiting.length > 0) return;
    const line = status();
    if (line !== shown && offer([`STATUS=${line}`])) shown = line;
  };

  const newest = (): string[] => {
    shown = status?.() ?? "";
    return [`STATUS=${shown}`];
  };

  return {
    /** Reports a step of the startup in one line. `mayTakeMs` extends the start timeout (EXTEND_TIMEOUT_USEC of sd_notify(3)). */
    says(text: string, mayTakeMs?: number) {
      shown = oneLine(text);
      const extended = mayTakeMs === undefined ? [] : [`EXTEND_TIMEOUT_USEC=${Math.ceil(mayTakeMs) * 1000}`];
      tell(`STATUS=${shown}`, ...extended);
    },
    /** Reports a failed start, with the system error number if there is one. */
    failed(reason: unknown) {
      const errno = errnoOf(reason);
      shown = oneLine(`Failed to start: ${messageOf(reason)}`);
      tell(`STATUS=${shown}`, ...(errno === null ? [] : [`ERRNO=${errno}`]));
    },
    /** Reports that the port answers. Calls `ask` every few seconds from then on, and sends changed answers. */
    ready(ask: () => string) {
      status = ask;
      tell("READY=1", ...newest());
      ends.push(repeat(STATUS_MS, showStatus));
      if (watchdogMs === null) return;
      offer(["WATCHDOG=1"]);
      // A third of the timeout, so that one late message does no harm.
      ends.push(repeat(watchdogMs / 3, () => offer(["WATCHDOG=1"])));
    },
    reloading() {
      const now = socket.monotonicMicroseconds();
      tell("RELOADING=1", ...(now === null ? [] : [`MONOTONIC_USEC=${now}`]));
    },
    reloaded: () => tell("READY=1", ...newest()),
    stopping() {
      status = null;
      tell("STOPPING=1", "STATUS=Shutting down");
      shown = "Shutting down";
    },
    stop() {
      endRetries?.();
      for (const end of ends) end();
      socket.close();
    },
  };
}

interface ServiceState {
  readonly address: string;
  readonly servers: readonly ServerPicture[];
  readonly lastReload: { readonly at: number; readonly outcome: "applied" | "refused" } | null;
}

const MAX_CHARACTERS = 300;

/** Returns one line: `http://0.0.0.0:8080, 3 servers: 2 up, 1 down, 1 stale, last poll 2026-01-31 08:15:30 UTC`. */
export function serviceStatus({ address, servers, lastReload }: ServiceState): string {
  const parts = [address, serversPart(servers)];
  const polls = servers.flatMap(({ lastPollAt }) => (lastPollAt === null ? [] : [lastPollAt]));
  if (polls.length > 0) parts.push(`last poll ${utc(Math.max(...polls))}`);
  if (lastReload?.outcome === "refused")
    parts.push(`config reload failed ${utc(lastReload.at)}, keeping the previous one (see the journal)`);
  return oneLine(parts.join(", "));
}

/** Returns a text as one line, because values of the protocol have no line ends. */
export function oneLine(text: string): string {
  const line = escapeControls(text);
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS - 1)}…` : line;
}

function serversPart(servers: readonly ServerPicture[]): string {
  const enabled = servers.filter(({ server }) => server.enabled);
  if (servers.length === 0) return "no servers configured";
  const words = (["up", "degraded", "down", "unknown"] as const).flatMap((status) => {
    const count = enabled.filter((each) => each.status === status).length;
    return count === 0 ? [] : [`${count} ${status}`];
  });
  const stale = enabled.filter(({ state }) => state === "stale").length;
  if (stale > 0) words.push(`${stale} stale`);
  const disabled = servers.length - enabled.length;
  if (disabled > 0) words.push(`${disabled} disabled`);
  return `${countOf(servers.length, "server")}: ${words.join(", ")}`;
}

function utc(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** System error codes of failures that licmond detects itself. */
const SYSTEM_WORDS: Readonly<Record<string, string>> = {
  NOT_WRITABLE: "EACCES",
  FULL: "ENOSPC",
  HELD: "EBUSY",
  BUSY: "EBUSY",
  IO: "EIO",
};

/** Returns the errno(3) of the innermost cause that has one, e.g. 98 for a port in use, for sd_notify(3). */
function errnoOf(error: unknown): number | null {
  if (!(error instanceof Error)) return null;
  const code = codeOf(error);
  const number = new Map(Object.entries(constants.errno)).get(SYSTEM_WORDS[code] ?? code);
  return errnoOf(error.cause) ?? number ?? null;
}
