import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createHistory } from "../../src/history/history.ts";
import { createReader } from "../../src/history/reader.ts";
import { sessionsQuery } from "../../src/history/sessions/session-list.ts";
import { efficiencyQuery } from "../../src/history/statistics/efficiency.ts";
import { heatmapQuery } from "../../src/history/statistics/heatmap.ts";
import { statsQuery } from "../../src/history/statistics/stats.ts";
import { usageQuery } from "../../src/history/statistics/usage.ts";
import { migrate } from "../../src/store/database/migrate.ts";
import { MIGRATIONS } from "../../src/store/migrations/migrations.ts";
import type { Store } from "../../src/store/open/open.ts";
import { cleanUp, fixedClock, open, temporaryDirectory } from "../store/place.ts";
import { recordingLog } from "../store/recording-log.ts";
import { questionOver } from "./rig.ts";
import { makeDays } from "./sessions/rig.ts";

afterEach(cleanUp);

/** Folder with two and a half days of polls that 0.1.0 stored, and the answers that 0.1.0 gave about them. */
const PLACE = join(import.meta.dir, "database-0.1");
const LAST_MIGRATION = "0015-imported-features";
const INTERVALS = { eda: 600_000 };

interface Answers {
  readonly now: number;
  readonly ranges: Readonly<Record<string, { readonly start: number; readonly end: number }>>;
}

function databaseOf01(): Store {
  const directory = temporaryDirectory();
  const path = join(directory, "licmond.db");
  const sqlite = new Database(path, { create: true, strict: true });
  const steps = MIGRATIONS.findIndex(({ name }) => name === LAST_MIGRATION) + 1;
  migrate(sqlite, path, MIGRATIONS.slice(0, steps));
  sqlite.run(readFileSync(join(PLACE, "rows.sql"), "utf8"));
  sqlite.close();
  return open(directory);
}

const digest = (value: unknown) =>
  new Bun.CryptoHasher("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);

/**
 * Returns answers with the field names of 0.1.0. Unlike in 0.1.0, the seat-hours of usage exclude gaps in
 * coverage.
 */
async function answersOf(store: Store, now: number, range: { start: number; end: number }) {
  const read = createReader(store.sqlite, { now });
  const { start, end } = range;
  const asked = questionOver(start, end, now, { intervals: INTERVALS });
  const stats = await statsQuery(read, { ...asked, interval: "1h", series: true, sort: null, limit: null });
  const { cells } = await heatmapQuery(read, { ...asked, timezone: "Europe/Berlin" });
  const efficiency = await efficiencyQuery(read, { ...asked, sort: null, limit: 10 });
  const usage = await usageQuery(read, { ...asked, groupBy: ["user"], limit: 10 });
  const sessions = await sessionsQuery(read, { ...asked, sort: { field: "firstSeenAt", descending: false } });
  return {
    start,
    end,
    steps: read.features().map((feature) => digest(read.series(feature, start, end).steps)),
    stats: stats.rows.map(
      ({ points, usedSeatHours, heldSeatHours, queuedRequests, unit, seatGroup, ...row }) => ({
        ...row,
        seatHours: usedSeatHours,
        points: digest(points),
      }),
    ),
    heatmap: digest(cells),
    efficiency: efficiency.rows.map(({ feature, seats, whatIf, total }) => ({
      feature,
      seats,
      affected: whatIf.filter((one) => one.total < (total ?? 0)),
    })),
    usage: usage.rows
      .map(({ user, heldSeatHours: seatHours, sessions, peakHeld: peak, lastUsedAt }) => {
        return { user: user ?? "", seatHours, sessions, peak, lastUsedAt };
      })
      .sort((a, b) => (a.user < b.user ? -1 : 1)),
    sessions: sessions.total,
  };
}

test("a database of 0.1.0 gives the same answers, before and after its days are packed", async () => {
  const { now, ranges } = (await Bun.file(join(PLACE, "answers.json")).json()) as Answers;
  const store = databaseOf01();
  const agrees = async () => {
    for (const range of Object.values(ranges))
      expect(await answersOf(store, now, { start: range.start, end: range.end })).toEqual(range as never);
  };
  await agrees();
  const clock = fixedClock(now);
  const log = recordingLog();
  createHistory({ store, clock, log, timers: { after: () => () => {} } }).packAll();
  expect(await makeDays(store, clock, () => {}, INTERVALS)).toEqual({ sessions: 2, sites: 2 });
  await agrees();
});
