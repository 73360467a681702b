import { type Listening, listen } from "../../src/http/listen.ts";
import type { Bench } from "./make.ts";

const open: Listening[] = [];

/** Listens on a port until the end of the test. The test file must call `afterEach(closeDoors)`. */
export function serve(
  at: Bench,
  tls: { readonly cert: string; readonly key: string } | null = null,
): Listening {
  const door = listen(at.app, { host: "127.0.0.1", port: 0, tls });
  open.push(door);
  return door;
}

export async function closeDoors(): Promise<void> {
  for (const door of open.splice(0)) await door.stop(0);
}

/** Sends bytes. Returns the raw answer once it is complete or the connection ends. */
export async function raw(port: number, text: string, whole = /\r\n\r\n.*\}$/s): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let got = "";
  const end = () => resolve(got);
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      data(_, bytes) {
        got += bytes.toString("latin1");
        if (whole.test(got)) end();
      },
      close: end,
      end,
      error: end,
    },
  });
  socket.write(text);
  const answer = await promise;
  socket.end();
  return answer;
}

/** Sends a WebSocket handshake with these headers. Returns the head of the answer, or the error. */
export function handshake(port: number, headers: Readonly<Record<string, string>>): Promise<string> {
  const all = {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return raw(port, `GET /ws/metrics HTTP/1.1\r\n${lines.join("")}\r\n`, /^HTTP\/1\.1 101.*\r\n\r\n|\}$/s);
}
