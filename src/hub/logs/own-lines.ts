import { type Clock, iso, repeat } from "../../domain/time/clock.ts";
import type { LogLine, LogSink } from "../../system/log.ts";
import type { Pool } from "../database/connect.ts";

const WRITE_MS = 1_000;
/** Maximum number of waiting lines; further ones are dropped and counted. */
const MAX_WAITING = 5_000;
const AT_ONCE = 1_000;

/** Stores the hub's own log lines as events without a site, so that any hub finds them. */
export function createOwnLines(pool: Pool, clock: Clock) {
  let waiting: LogLine[] = [];
  let leftOut = 0;
  let running: Promise<void> | null = null;

  const sink: LogSink = (line) => {
    if (waiting.length < MAX_WAITING) waiting.push(line);
    else leftOut++;
  };

  function leftOutLine(count: number): LogLine {
    const message = "Log lines were dropped while the database was not available";
    return { at: clock.now(), level: "warn", source: "store", message, fields: { lines: count } };
  }

  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const lines = waiting.slice(0, AT_ONCE);
      const rows = lines.map(({ at, level, source, message, fields }) => {
        const body = JSON.stringify({ timestamp: iso(at), level, message, source, metadata: fields });
        return { at, level, source, body };
      });
      await pool.unsafe(NEW_LINES, [clock.now(), JSON.stringify(rows)]);
      waiting = waiting.slice(lines.length);
      if (leftOut > 0) waiting.push(leftOutLine(leftOut));
      leftOut = 0;
    }
  }

  // Ignore errors here; the watch logs that the database does not answer.
  const tryToWrite = () =>
    (running ??= write()
      .catch(() => {})
      .finally(() => {
        running = null;
      }));

  const end = repeat(WRITE_MS, () => void tryToWrite());
  return {
    sink,
    async stop(): Promise<void> {
      end();
      await tryToWrite();
    },
  };
}

const NEW_LINES = `
  WITH lines AS (
    INSERT INTO new_events (received_at, at, site, type, level, source, server, body)
    SELECT $1, r.at, '', 'log', r.level, r.source, NULL, r.body
    FROM json_to_recordset($2::text::json) AS r(at bigint, level text, source text, body text)
    RETURNING 1
  )
  SELECT pg_notify('licmond', 'log') FROM lines LIMIT 1`;
