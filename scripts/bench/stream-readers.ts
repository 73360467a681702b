/**
 * Opens streams and counts events: `bun stream-readers.ts PORT PATH KEY COUNT`. A path under `/ws/` is a WebSocket. Prints
 * `ready` when all are open. `expect N` on stdin resets the counters and prints `counting`, then `all` after N events.
 * `stop` prints the counts as JSON. It searches bytes, to use as little CPU as possible.
 */
const [port, path = "", key, count] = process.argv.slice(2);
if (count === undefined) throw new Error("usage: stream-readers.ts PORT PATH KEY COUNT");

/** Start of every event, on both kinds of stream. */
const MARKER = '{"type":"log"';
const TIME = '"timestamp":"';
/** One in this many readers records the delay of its events. */
const WATCH_EVERY = 20;

const UPGRADE = path.startsWith("/ws/")
  ? "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
  : "";

let events = 0;
let expected = Infinity;
let closed = 0;
let latenciesMs: number[] = [];

function read(text: string, watched: boolean): string {
  let at = text.indexOf(MARKER);
  let end = 0;
  for (; at >= 0; at = text.indexOf(MARKER, end)) {
    events++;
    end = at + MARKER.length;
    if (!watched) continue;
    const time = text.indexOf(TIME, end) + TIME.length;
    const instant = Date.parse(text.slice(time, time + 24));
    if (!Number.isNaN(instant)) latenciesMs.push(Date.now() - instant);
  }
  // A marker may be split between two reads.
  return text.slice(Math.max(end, text.length - MARKER.length + 1));
}

async function open(index: number): Promise<void> {
  const { promise: answered, resolve, reject } = Promise.withResolvers<void>();
  let rest = "";
  let head = true;
  await Bun.connect({
    hostname: "127.0.0.1",
    port: Number(port),
    socket: {
      open: (socket) =>
        void socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n${UPGRADE}\r\n`),
      data(_, bytes) {
        const text = bytes.toString("latin1");
        if (head) {
          head = false;
          if (/^HTTP\/1\.1 (200|101) /.test(text)) resolve();
          else reject(new Error(text.slice(0, 500)));
        }
        rest = read(rest + text, index % WATCH_EVERY === 0);
        if (events < expected) return;
        expected = Infinity;
        console.log("all");
      },
      close: () => void closed++,
      error: (_, cause) => reject(cause),
    },
  });
  await answered;
}

const BATCH = 100;
for (let first = 0; first < Number(count); first += BATCH) {
  const size = Math.min(BATCH, Number(count) - first);
  await Promise.all(Array.from({ length: size }, (_, index) => open(first + index)));
}
console.log("ready");

for await (const line of console) {
  if (line.startsWith("expect ")) {
    events = 0;
    latenciesMs = [];
    expected = Number(line.slice("expect ".length));
    console.log("counting");
  }
  if (line === "stop") break;
}
const sorted = latenciesMs.sort((a, b) => a - b);
const quantile = (share: number) => sorted[Math.floor(sorted.length * share)] ?? null;
console.log(
  JSON.stringify({ events, closed, p50: quantile(0.5), p99: quantile(0.99), max: sorted.at(-1) ?? null }),
);
process.exit(0);

export {};
