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
import { median } from "./measure.ts";
import { type Bench, type Row, tableOf } from "./table.ts";

const FULL = { servers: 100, features: 50, days: 365 };
const TURNS = 3;
/** A Wednesday, so polls at noon are those of a working day. */
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
    return [
      {
        what: `history of ${size.days} days on disk, compared with one row per poll`,
        ours: bytesOf(store.sqlite, of) / 1e6,
        baseline: (plain.bytes * size.days) / 1e6,
        unit: "MB",
        bound: { of: "ratio", atMost: 1 / 20 },
      },
      {
        what: "  of which sums of days",
        ours: (bytesOf(store.sqlite, ["held_days"]) + (sums?.bytes ?? 0)) / 1e6,
        baseline: null,
        unit: "MB",
        bound: null,
      },
      {
        what: "  sessions",
        ours: bytesOf(store.sqlite, ["sessions"]) / 1e6,
        baseline: null,
        unit: "MB",
        bound: null,
      },
    ];
  } finally {
    store.close();
  }
}

/** Runs the same polls alternately on the full store and on an empty one. */
async function ingestRow(
  { store }: HistoryFile,
  size: YearSize,
  year: Year,
  fresh: (turn: number) => string,
): Promise<Row> {
  const times: { readonly last: number; readonly first: number }[] = [];
  for (let turn = 0; turn <= TURNS; turn++) {
    const at = END + (9 + 2 * turn) * 60 * MINUTE_MS;
    const last = await ingest(store, year, size, at);
    const first = await ingest(fresh(turn), year, size, at);
    // The first round warms up.
    if (turn > 0) times.push({ last, first });
  }
  return {
    what: `a cycle of ${size.servers} polls after ${size.days} days, compared with an empty store`,
    ours: median(times.map(({ last }) => last)),
    baseline: median(times.map(({ first }) => first)),
    unit: "ms",
    bound: { of: "ratio", atMost: 1.3 },
  };
}

if (import.meta.main) console.log(tableOf(await history.run()));
