import { CString, dlopen, ptr, read } from "bun:ffi";
import { unlinkSync } from "node:fs";
import { unixAddress } from "../../src/system/service-manager.ts";

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const MSG_DONTWAIT = 0x40;

const libc = dlopen("libc.so.6", {
  socket: { args: ["int", "int", "int"], returns: "int" },
  bind: { args: ["int", "ptr", "u32"], returns: "int" },
  recv: { args: ["int", "ptr", "u64", "int"], returns: "i64" },
  close: { args: ["int"], returns: "int" },
  strerror: { args: ["int"], returns: "ptr" },
  __errno_location: { args: [], returns: "ptr" },
}).symbols;

/** Listens like systemd at a path or at `@name`. Bun has no UNIX datagram sockets, so this calls libc. */
export function receiveNotifications(name: string) {
  const address = unixAddress(name);
  if (address === null) throw new Error(`no address: ${name}`);
  const descriptor = libc.socket(AF_UNIX, SOCK_DGRAM, 0);
  if (descriptor < 0 || libc.bind(descriptor, ptr(address), address.length) !== 0)
    throw new Error(`cannot listen at ${name}: ${lastError()}`);
  const buffer = new Uint8Array(64 * 1024);
  return {
    /** Returns the datagrams since the last call. */
    take() {
      const taken: string[] = [];
      for (;;) {
        const length = Number(libc.recv(descriptor, ptr(buffer), buffer.length, MSG_DONTWAIT));
        if (length < 0) return taken;
        taken.push(new TextDecoder().decode(buffer.subarray(0, length)));
      }
    },
    [Symbol.dispose]() {
      libc.close(descriptor);
      if (name.startsWith("/")) unlinkSync(name);
    },
  };
}

function lastError(): string {
  const place = libc.__errno_location();
  const words = place === null ? null : libc.strerror(read.i32(place));
  return words === null ? "unknown" : new CString(words).toString();
}
