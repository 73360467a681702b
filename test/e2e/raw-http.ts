import { connect } from "node:net";
import type { HostileRequest } from "../http/hostile-requests.ts";

/** An answer as it came over the wire; null when the connection was closed without one. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Null for a stream, which is left after its head. */
  readonly text: string | null;
}

const DEADLINE_MS = 60_000;

/** Sends a request byte by byte as given, and reads what comes. Rejects when nothing comes in time. */
export function sendRaw(port: number, request: HostileRequest, chunked: boolean): Promise<RawAnswer | null> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer | null>();
  const parts: Buffer[] = [];
  const socket = connect(port, "127.0.0.1");
  const timer = setTimeout(() => {
    socket.destroy();
    reject(
      new Error(
        `no answer in ${DEADLINE_MS} ms, after ${Buffer.concat(parts).toString("latin1").slice(0, 300)}`,
      ),
    );
  }, DEADLINE_MS);
  const finish = () => {
    clearTimeout(timer);
    socket.destroy();
    resolve(answerOf(Buffer.concat(parts)));
  };
  socket.on("connect", () => socket.write(wire(request, chunked)));
  socket.on("data", (bytes: Uint8Array) => {
    parts.push(Buffer.from(bytes));
    if (isWhole(Buffer.concat(parts).toString("latin1"), request.method)) finish();
  });
  socket.on("close", finish);
  // A refusal may come while we are still sending: what was read before the reset counts.
  socket.on("error", finish);
  return promise;
}

/** Whether all that will come has come: by its length, or because nothing, or something endless, follows the head. */
function isWhole(text: string, method: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return false;
  const head = text.slice(0, end).toLowerCase();
  if (/^http\/1\.1 (101|204|304)/.test(head) || method === "HEAD" || head.includes("text/event-stream"))
    return true;
  if (head.includes("transfer-encoding: chunked")) return text.endsWith("0\r\n\r\n");
  return text.length - end - 4 >= Number(/content-length: (\d+)/.exec(head)?.[1] ?? Infinity);
}

function wire({ method, target, headers, body }: HostileRequest, chunked: boolean): Uint8Array {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    "Host: lic",
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  if (!headers.some(([name]) => name.toLowerCase() === "connection")) lines.push("Connection: close");
  const sent = body ?? new Uint8Array();
  if (body !== null) lines.push(chunked ? "Transfer-Encoding: chunked" : `Content-Length: ${sent.length}`);
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  if (body === null || !chunked) return Buffer.concat([head, sent]);
  const half = Math.ceil(sent.length / 2);
  const pieces = [sent.subarray(0, half), sent.subarray(half)].filter((piece) => piece.length > 0);
  return Buffer.concat([
    head,
    ...pieces.flatMap((piece) => [
      Buffer.from(`${piece.length.toString(16)}\r\n`),
      piece,
      Buffer.from("\r\n"),
    ]),
    Buffer.from("0\r\n\r\n"),
  ]);
}

function answerOf(bytes: Buffer): RawAnswer | null {
  const text = bytes.toString("latin1");
  const end = text.indexOf("\r\n\r\n");
  const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
  if (end === -1 || status === undefined) return null;
  const headers = new Headers();
  for (const line of text.slice(0, end).split("\r\n").slice(1)) {
    const colon = line.indexOf(":");
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  const isStream = headers.get("content-type")?.startsWith("text/event-stream") === true;
  const body = bytes.subarray(end + 4);
  const plain = headers.get("transfer-encoding") === "chunked" ? unchunked(body) : body;
  return { status: Number(status), headers, text: isStream ? null : plain.toString("utf8") };
}

function unchunked(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const line = body.indexOf("\r\n", at);
    if (line === -1) break;
    const length = Number.parseInt(body.toString("latin1", at, line), 16);
    if (!(length > 0)) break;
    parts.push(body.subarray(line + 2, line + 2 + length));
    at = line + 2 + length + 2;
  }
  return Buffer.concat(parts);
}
