/**
 * Streams events with as little code as possible: `bun stream-bare-server.ts PORT JSON`. `/tell?count=N&rate=R` sends N
 * events, R per second, to every client of `/stream/logs` (each frame is encoded once) and of `/ws/logs` (sent with
 * Bun's `publish`). Events are the given JSON with the current time.
 */
import { pace } from "./pace.ts";

const [port, json] = process.argv.slice(2);
if (json === undefined) throw new Error("usage: stream-bare-server.ts PORT JSON");

const controllers = new Set<ReadableStreamDefaultController<Uint8Array>>();
const encoder = new TextEncoder();

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  fetch(request, server) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/") return new Response("ok");
    if (pathname === "/tell") {
      void pace(Number(searchParams.get("count")), Number(searchParams.get("rate")), tell);
      return new Response("ok");
    }
    if (pathname === "/ws/logs") {
      if (server.upgrade(request)) return;
      return new Response(null, { status: 400 });
    }
    server.timeout(request, 0);
    let own: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        own = controller;
        controllers.add(controller);
        controller.enqueue(encoder.encode("retry: 3000\n\n"));
      },
      cancel: () => void controllers.delete(own),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  },
  websocket: {
    open: (socket) => {
      socket.subscribe("events");
      socket.send("{}");
    },
    message() {},
  },
});

function tell(): void {
  const now = new Date();
  const event = json?.replace(/"timestamp":"[^"]*"/, `"timestamp":"${now.toISOString()}"`) ?? "";
  const frame = encoder.encode(`event: log\nid: ${now.getTime()}\ndata: ${event}\n\n`);
  for (const controller of controllers) controller.enqueue(frame);
  server.publish("events", event);
}
