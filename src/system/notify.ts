import type { dlopen as Dlopen } from "bun:ffi";

/** Socket of the service manager: systemd's, or another one with the protocol sd_notify(3). */
export type NotifySocket = Awaited<ReturnType<typeof openNotifySocket>>;

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
     * Sends `NAME=value` lines in one datagram. Returns false without a reader or if the queue is full.
     * Never blocks.
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
