import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { importLogs } from "../../src/cli/import-log.ts";
import { fileSource } from "../../src/cli/import-sources.ts";
import type { MonitoredServer } from "../../src/domain/server.ts";
import { createLineCutter } from "../../src/managers/flexnet/debug-log/lines.ts";
import { createDebugLogReader } from "../../src/managers/flexnet/debug-log/reader.ts";
import { openStore, type Store } from "../../src/store/open.ts";
import type { Bench, Row } from "./table.ts";

const MEGABYTES = 100;
const START = Date.UTC(2024, 0, 1);

const SERVER: MonitoredServer = {
  ...{ id: "eda", name: "eda", manager: "flexnet", address: "27000@lic1", tool: null, timezone: "UTC" },
  ...{ intervalMs: 60_000, timeoutMs: 30_000, enabled: true, labels: {}, logFile: null },
};

/** The debug log of a busy vendor daemon, about two years of it: seats that come and go, denials, dates, summaries. */
export async function writeLog(path: string, bytes: number): Promise<void> {
  const writer = Bun.file(path).writer();
  let seed = 42;
  const random = (below: number) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const held: string[] = [];
  let at = START;
  let stampedAt = 0;
  let written = 0;
  while (written < bytes) {
    at += random(60) * 1000;
    const date = new Date(at);
    const time = `${String(date.getUTCHours()).padStart(2)}:${date.toISOString().slice(14, 19)} (acmed) `;
    let text = "";
    if (at - stampedAt > 6 * 3_600_000) {
      text += `${time}TIMESTAMP ${date.getUTCMonth() + 1}/${date.getUTCDate()}/${date.getUTCFullYear()}\n`;
      stampedAt = at;
    }
    const kind = random(100);
    if (kind < 45 || held.length === 0) {
      const seat = `"feature_${random(50)}" user${random(400)}@workstation${random(600)}  `;
      held.push(seat);
      text += `${time}OUT: ${seat}\n`;
    } else if (kind < 90) {
      const [seat = ""] = held.splice(random(held.length), 1);
      text += `${time}IN: ${seat}${random(4) === 0 ? "(INACTIVE)" : ""}\n`;
    } else if (kind < 93) {
      text += `${time}DENIED: "feature_${random(50)}" user${random(400)}@workstation${random(600)}  (Licensed number of users already reached. (-4,342:10054 ""))\n`;
    } else
      text += `${time}(@acmed-SLOG@) ${random(900)} ms at 11:22:33(1/2/2024),#3,(12K),(user1,workstation2,123)\n`;
    writer.write(text);
    written += text.length;
  }
  await writer.end();
}

/** What any program does that reads lines: pieces, decoded, split. */
async function readLines(path: string): Promise<number> {
  const decoder = new TextDecoder();
  let rest = "";
  let length = 0;
  for await (const piece of fileSource(path).pieces()) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) length += line.length;
  }
  return length + rest.length;
}

async function readEvents(path: string): Promise<number> {
  let events = 0;
  const reader = createDebugLogReader({
    ...{ zone: "UTC", hold: true, start: { day: START / 86_400_000, second: -1, daemons: [] } },
    onEvent: () => events++,
  });
  const cutter = createLineCutter();
  for await (const piece of fileSource(path).pieces()) cutter.feed(piece, reader.line);
  cutter.finish(reader.line);
  reader.flush();
  if (reader.counts.malformed + reader.counts.withoutHead > 0) throw new Error("lines were not understood");
  return events;
}

async function rateOf(work: () => unknown): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (MEGABYTES * 1000) / (performance.now() - startedAt);
}

/** A large debug log: read, and imported into a new database, beside a plain line reader. */
export const importLog: Bench = {
  name: "import",
  what: `a debug log of ${MEGABYTES} MB: read and imported, beside a plain line reader`,
  async run(): Promise<Row[]> {
    const folder = await mkdtemp(join(tmpdir(), "licmond-import-"));
    try {
      const path = join(folder, "debug.log");
      await writeLog(path, MEGABYTES * 1e6);
      await readLines(path);
      const lines = await rateOf(() => readLines(path));
      await readEvents(path);
      const read = await rateOf(() => readEvents(path));
      const quiet = { debug() {}, info() {}, warn() {}, error() {} };
      let longest = 0;
      const importInto = async (directory: string, beside: boolean) => {
        const opened = openStore({ directory: join(folder, directory), log: quiet });
        const timed: Store["transaction"] = (work, options) => {
          const startedAt = performance.now();
          try {
            return opened.transaction(work, options);
          } finally {
            longest = Math.max(longest, performance.now() - startedAt);
          }
        };
        const store = { ...opened, transaction: timed };
        try {
          const sources = [fileSource(path)];
          const done = { store, server: SERVER, zone: "UTC", sources, now: Date.now(), keptFrom: 0, beside };
          return await importLogs({ ...done, onProgress: () => {} });
        } finally {
          opened.close();
        }
      };
      let sessions = 0;
      const whole = await rateOf(async () => {
        sessions = (await importInto("storage", false)).sessions.added;
      });
      const again = await rateOf(() => importInto("storage", false));
      longest = 0;
      const shared = await rateOf(() => importInto("beside", true));
      return [
        {
          what: "debug log read into events, beside lines",
          ours: read,
          baseline: lines,
          unit: "MB/s",
          bound: null,
        },
        {
          what: `the same imported: ${sessions} sessions stored`,
          ours: whole,
          baseline: lines,
          unit: "MB/s",
          bound: null,
        },
        {
          what: "imported a second time: nothing is new",
          ours: again,
          baseline: lines,
          unit: "MB/s",
          bound: null,
        },
        { what: "imported beside a daemon", ours: shared, baseline: lines, unit: "MB/s", bound: null },
        {
          what: "longest transaction of that: a daemon may wait for it",
          ours: longest,
          baseline: null,
          unit: "ms",
          bound: null,
        },
      ];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};
