import type { MonitoredServer } from "../../src/domain/server.ts";
import { MINUTE_MS } from "../../src/domain/time/clock.ts";
import { createHistory } from "../../src/history/history.ts";
import { createLive } from "../../src/live/live.ts";
import { openStore, type Store } from "../../src/store/open/open.ts";
import { checkout, feature, outcome, reading } from "../../test/domain/make.ts";
import { SILENT, serversOf } from "./history-file.ts";
import { nameOf, type Year, type YearSize } from "./history-year.ts";
import { median } from "./measure.ts";

const CYCLES = 15;

/**
 * Returns the median time of a cycle in ms. In a cycle, every server is polled once. Each poll is a
 * transaction that stores its picture, sessions and counts.
 */
export async function ingest(directory: string, year: Year, size: YearSize, at: number): Promise<number> {
  const store = openStore({ directory, log: SILENT });
  try {
    const clock = { time: at, now: () => clock.time };
    const room = createHistory({ store, clock, log: SILENT, timers: { after: () => () => {} } });
    const servers = serversOf(size);
    const live = createLive({
      store,
      servers,
      clock,
      log: SILENT,
      recorder: room.recorder,
      commit: async (work) => store.transaction(() => work()),
      timers: { after: () => () => {} },
    });
    const times: number[] = [];
    for (let cycle = 0; cycle <= CYCLES; cycle++) {
      clock.time = at + cycle * MINUTE_MS;
      const outcomes = servers.map((server, place) => pollOf(year, size, server, place, clock.time));
      Bun.gc(true);
      const begun = performance.now();
      for (const outcome of outcomes) await live.record(outcome, null);
      // Skip the first cycle, which opens files and compiles code.
      if (cycle > 0) times.push(performance.now() - begun);
    }
    await live.stop();
    return median(times);
  } finally {
    forgetPolls(store, size);
    store.close();
  }
}

/** Deletes the rows of polls after the generated history, so that each measurement starts from the same state. */
function forgetPolls({ sqlite, transaction }: Store, { end }: YearSize): void {
  transaction(() => {
    sqlite.run("DELETE FROM sessions WHERE ended_at IS NULL");
    sqlite.run("DELETE FROM sessions WHERE ended_at > ? AND first_seen_at >= ?", [end, end]);
    sqlite.run("DELETE FROM samples WHERE at >= ?", [end]);
    sqlite.run("DELETE FROM coverage WHERE from_at >= ?", [end]);
    sqlite.run("UPDATE coverage SET read_at = ?, until_at = ?, running = 1", [end - MINUTE_MS, end]);
    for (const table of ["dirty", "pictures"]) sqlite.run(`DELETE FROM ${table}`);
  });
}

export function pollOf(year: Year, size: YearSize, server: MonitoredServer, place: number, at: number) {
  const features = Array.from({ length: size.features }, (_, number) => {
    const index = place * size.features + number;
    const { held, total } = year.weekOf(index, at).played;
    const now = held.filter(({ from, until }) => from <= at && at < until);
    return feature({
      daemon: "vendord",
      name: nameOf(size, index).feature,
      total,
      used: now.reduce((sum, { count }) => sum + count, 0),
      checkouts: now.map(({ user, from, count }) => {
        const who = { user: `user${user}`, host: `ws-${user}`, display: null, handle: null };
        return checkout({ ...who, version: "v2026.09", count, startedAt: from, pool: 0 });
      }),
    });
  });
  const read = reading({ reportTime: null, members: [], daemons: [], features });
  return outcome({ serverId: server.id, startedAt: at - 40, finishedAt: at, durationMs: 40, reading: read });
}
