import { createRequire } from "node:module";
import { join } from "node:path";
import { EventSource } from "eventsource";
import { asObject, type Seen } from "./stream-site.ts";

/** Bun replaces the npm package `ws` by its own version, so load the package by its path. */
const { WebSocket: NpmWebSocket } = createRequire(import.meta.url)(
  join(import.meta.dir, "../../node_modules/ws/index.js"),
) as Pick<typeof import("ws"), "WebSocket">;

/** Connects with the npm package `eventsource`, which reconnects by itself. */
export function npmEventSource(url: string, names: readonly string[]) {
  const source = new EventSource(url);
  const seen: Seen[] = [];
  let opened = 0;
  source.onopen = () => void opened++;
  for (const name of names) {
    source.addEventListener(name, ({ data, lastEventId }) => {
      seen.push({ id: Number(lastEventId), name, data: asObject(data) });
    });
  }
  return { seen, opened: () => opened, close: () => source.close() };
}

/** Connects with the npm package `ws`. Resolves once the socket is open. */
export async function npmWebSocket(url: string) {
  const socket = new NpmWebSocket(url.replace(/^http/, "ws"));
  const seen: Seen[] = [];
  /** Messages that are not events: resume, pong, subscribed, error. */
  const answers: Readonly<Record<string, unknown>>[] = [];
  socket.on("message", (bytes) => {
    const data = asObject(String(bytes));
    const { type, id } = data;
    // Metrics have no id.
    if (type === "metrics") seen.push({ id: Number.NaN, name: "metrics", data });
    else if (typeof id === "string" && typeof type === "string")
      seen.push({ id: Number(id.slice(type.length + 1)), name: type, data });
    else answers.push(data);
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on("close", (code, reason) => resolve({ code, reason: String(reason) }));
  });
  await new Promise<void>((resolve, reject) => socket.on("open", resolve).on("error", reject));
  return { socket, seen, answers, closed, opened: () => 1, close: () => socket.close() };
}
