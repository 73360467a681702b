import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DAY, HOUR } from "../../src/simulator/calendar.ts";
import { openStore, type Store } from "../../src/store/open.ts";
import { historyFile, SILENT, serversOf } from "./history-file.ts";
import { ingest } from "./history-ingest.ts";
import { createYear, type YearSize } from "./history-year.ts";

const EVENT_DAYS = 30;
/** Log lines of a server in an hour: polls that fail, requests, logins. */
const LOG_LINES_AN_HOUR = 10;
/** Proof that it was finished. */
const NOTE = "whole";

/**
 * The database that a daemon has after so many days, made when it is not there: history, sessions, denials, 30 days of
 * events, open seats and pictures. Answers its storage directory.
 */
export async function yearDatabase(directory: string, size: YearSize): Promise<string> {
  const year = createYear();
  const { store: storage } = historyFile(directory, size, year);
  if (existsSync(join(directory, NOTE))) return storage;
  const store = openStore({ directory: storage, log: SILENT });
  try {
    writeEvents(store, size);
  } finally {
    store.close();
  }
  // A working day's morning behind it: pictures, open sessions, counts that are not packed yet.
  await ingest(storage, year, size, size.end + 9 * HOUR);
  writeFileSync(join(directory, NOTE), "");
  return storage;
}

/** Checkouts and checkins of the last days by the sessions, and log lines with their words. */
function writeEvents(store: Store, size: YearSize): void {
  const { sqlite } = store;
  const from = size.end - EVENT_DAYS * DAY;
  store.transaction(() => {
    for (const [type, at] of [
      ["checkout", "first_seen_at"],
      ["checkin", "ended_at"],
    ]) {
      sqlite.run(
        `INSERT OR IGNORE INTO events (id, at, type, level, source, server, body)
         SELECT ${at} + id % 59000, ${at}, '${type}', NULL, NULL, server_id,
           json_object('type', '${type}', 'id', '${type}-' || id, 'timestamp', ${at}, 'server', server_id, 'daemon', daemon,
             'feature', feature, 'user', user, 'host', host, 'display', display, 'version', version, 'count', count)
         FROM sessions WHERE ${at} >= ? AND ${at} < ?`,
        [from, size.end - 60_000],
      );
    }
    const line = sqlite.query(
      `INSERT OR IGNORE INTO events (id, at, type, level, source, server, body)
       VALUES (?1, ?1, 'log', ?2, 'collector', ?3, json_object('type', 'log', 'id', 'log-' || ?1, 'timestamp', ?1, 'level', ?2,
         'message', ?4, 'source', 'collector', 'metadata', json_object('server', ?3, 'durationMs', ?5)))`,
    );
    const count = sqlite.query(
      `INSERT INTO log_counts (hour, level, source, count) VALUES (?, ?, 'collector', 1)
       ON CONFLICT DO UPDATE SET count = count + 1`,
    );
    const step = HOUR / LOG_LINES_AN_HOUR / size.servers;
    serversOf(size).forEach(({ id }, place) => {
      for (let at = from + place * step; at < size.end; at += HOUR / LOG_LINES_AN_HOUR) {
        const eventId = Math.floor(at);
        const level = place % 10 === 0 ? "warn" : "info";
        const message = "The server answered slowly";
        if (line.run(eventId, level, id, message, 1_234 + place).changes === 0) continue;
        count.run(Math.floor(eventId / HOUR) * HOUR, level);
      }
    });
  });
}
