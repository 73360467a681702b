import type { Database } from "bun:sqlite";
import type { Log } from "../domain/log.ts";

/** Every setting of a connection, in one place. See https://sqlite.org/pragma.html */
export function prepareConnection(sqlite: Database, log: Log): void {
  // Readers and the writer do not wait for each other.
  const journal = sqlite.query<{ journal_mode: string }, []>("PRAGMA journal_mode = WAL").get()?.journal_mode;
  if (journal !== "wal") {
    log.warn("The file system does not take SQLite's write-ahead log: use a local one", {
      journalMode: journal ?? null,
    });
  }
  // With WAL a commit survives the death of the process in NORMAL; only a power cut may undo the last ones.
  // What must survive that too (keys) asks for a durable transaction.
  sqlite.run("PRAGMA synchronous = NORMAL");
  sqlite.run("PRAGMA foreign_keys = ON");
  // Pages once touched stay in the process up to this. 16 MB made neither polls nor events nor searches faster (the
  // kernel keeps the file anyhow); it filled as the database grew, and a day of polls looked like a leak.
  sqlite.run("PRAGMA cache_size = -4000");
  sqlite.run("PRAGMA temp_store = MEMORY");
  // Every 1 MiB the log is written back: the event loop stands still meanwhile (2–3 ms; 8 ms with SQLite's 4 MiB).
  sqlite.run("PRAGMA wal_autocheckpoint = 256");
  // A burst (many first polls) must not leave a log file of its size for ever.
  sqlite.run("PRAGMA journal_size_limit = 33554432");
}
