import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MINUTE_MS } from "../../src/domain/time/clock.ts";
import { packedKey } from "../../src/history/buckets.ts";
import { openStore } from "../../src/store/open/open.ts";
import { bytesOf, type HistoryFile, historyFile, SILENT } from "./history-file.ts";
import { ingest } from "./history-ingest.ts";
import { queries } from "./history-queries.ts";
import { createYear, type Year, type YearSize } from "./history-year.ts";
import { inTurns, median } from "./measure.ts";
import { type Bench, compared, figure, type Row, tableOf } from "./table.ts";

const FULL = { servers: 100, features: 50, days: 365 };
const TURNS = 3;
/** End of the history: midnight before a Wednesday, so that polls at noon see a working day. */
const END = Date.parse("2026-09-30T00:00:00Z");

/**
 * Measures a year of history: its size, the time of a poll at its end, and the time of queries. The history is generated and
 * deleted, unless HISTORY_DIR names a directory to keep it in.
 */
export const history: Bench = {
  name: "history",
  what: "a year of 100 servers × 50 features: bytes, ingest, queries (takes minutes; HISTORY_SIZE=servers,features,days; HISTORY_DIR keeps it)",
  run: () => measure(sizeOf(process.env.HISTORY_SIZE), process.env.HISTORY_DIR ?? null),
};

function sizeOf(text: string | undefined): YearSize {
  const [servers = FULL.servers, features = FULL.features, days = FULL.days] = (text ?? "")
    .split(",")
    .filter((part) => part !== "")
    .map(Number);
  return { servers, features, days, end: END };
}

async function measure(size: YearSize, kept: string | null): Promise<Row[]> {
  const own = mkdtempSync(join(tmpdir(), "licmond-history-"));
  try {
    const year = createYear();
    const file = await historyFile(kept ?? join(own, "made"), size, year);
    return [
      ...onDisk(file, size),
      ...(await queries(file, size)),
      await ingestRow(file, size, year, (turn) => join(own, `fresh-${turn}`)),
    ];
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

function onDisk({ store: directory, plain }: HistoryFile, size: YearSize): Row[] {
  const store = openStore({ directory, log: SILENT });
  const of = ["coverage", "history_features", "packed_days", "held_days"];
  const sums = store.sqlite
    .query<{ bytes: number }, [number]>("SELECT sum(length(data)) AS bytes FROM packed_days WHERE key >= ?")
    .get(packedKey("held", 0));
  try {
    const megabytes = (tables: readonly string[]) => bytesOf(store.sqlite, tables) / 1e6;
    const what = `history of ${size.days} days on disk, compared with one row per poll`;
    const figures = { ours: megabytes(of), baseline: (plain.bytes * size.days) / 1e6 };
    return [
      compared(what, figures, "MB", { of: "ratio", atMost: 1 / 20 }),
      figure("  of which sums of days", megabytes(["held_days"]) + (sums?.bytes ?? 0) / 1e6, "MB"),
      figure("  sessions", megabytes(["sessions"]), "MB"),
    ];
  } finally {
    store.close();
  }
}

/** Runs the same polls on the full store and on an empty one. */
async function ingestRow(
  { store }: HistoryFile,
  size: YearSize,
  year: Year,
  fresh: (turn: number) => string,
): Promise<Row> {
  const into = (directory: string, turn: number) =>
    ingest(directory, year, size, END + (9 + 2 * turn) * 60 * MINUTE_MS);
  const times = await inTurns(
    TURNS,
    1,
    (turn) => into(store, turn),
    (turn) => into(fresh(turn), turn),
  );
  const figures = { ours: median(times.ours), baseline: median(times.baseline) };
  const what = `a cycle of ${size.servers} polls after ${size.days} days, compared with an empty store`;
  return compared(what, figures, "ms", { of: "ratio", atMost: 1.3 });
}

if (import.meta.main) console.log(tableOf(await history.run()));
