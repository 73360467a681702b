/** Requests for the log as server-sent events and as a WebSocket. */
export const sse = (key: string, path = "/stream/logs?events=log") =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n\r\n`;
export const ws = (key: string, path = "/ws/logs") =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/** A client that sends a request and does not read until `resume`, so that bytes pile up on the other side. */
export interface Stalled {
  /** Bytes read so far, as text. */
  text(): string;
  /** Starts reading. */
  resume(): void;
  /** Resolves when the other side has closed the connection. */
  readonly closed: Promise<void>;
  close(): void;
}

export async function connectStalled(port: number, request: string): Promise<Stalled> {
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
    text: () => Buffer.concat(parts).toString("latin1"),
    resume() {
      reading = true;
      socket.resume();
    },
    closed,
    close: () => void socket.terminate(),
  };
}
