/** Requests for the log as server-sent events and as a WebSocket. */
export const sse = (key: string, path = "/stream/logs?events=log") =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n\r\n`;
export const ws = (key: string, path = "/ws/logs") =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

export type Stalled = Awaited<ReturnType<typeof connectStalled>>;

/** Sends a request and reads nothing until `resume`, so that bytes pile up at the server. */
export async function connectStalled(port: number, request: string) {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const parts: Buffer[] = [];
  let reading = false;
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      open: (opened) => void opened.write(request),
      data(opened, bytes) {
        parts.push(Buffer.from(bytes));
        if (!reading) opened.pause();
        answer();
      },
      close: () => resolve(),
      error: () => resolve(),
    },
  });
  await answered;
  return {
    /** Bytes read so far, as text. */
    text: () => Buffer.concat(parts).toString("latin1"),
    resume() {
      reading = true;
      socket.resume();
    },
    /** Resolves when the server has closed the connection. */
    closed,
    close: () => void socket.terminate(),
  };
}
