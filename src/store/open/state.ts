import { Database } from "bun:sqlite";
import { renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { messageOf } from "../../domain/error-code.ts";
import type { Log } from "../../domain/log.ts";
import { isBusy } from "../database/busy.ts";
import type { DatabaseFile, Db } from "../database/database-file.ts";
import { makeFresh, syncToDisk } from "../database/files.ts";
import { GIVEN_BACK, IN_BOTH, putRows, readRows } from "../database/precious.ts";
import type { NotPromise } from "../database/transaction.ts";
import { markOf } from "./state-files.ts";

/** Asynchronous changes within this time share one copy. A copy takes about 15 ms with 1,000 keys. */
const COPY_MS = 1_000;
/**
 * Maximum number of queued writes while another program locks state.db; older ones are dropped until the next
 * start.
 */
const MAX_WAITING = 10_000;

/**
 * `state.db`: keys, secrets, the reserve of ids; and second copies of rows of licmond.db that the next polls
 * do not recreate.
 */
export function createStateFile(file: DatabaseFile, copyPath: string, log: Log) {
  const { path, sqlite, db, transaction } = file;
  let waiting: ((db: Db) => void)[] = [];
  let isCopied = true;
  let copiedAt = Number.NEGATIVE_INFINITY;
  let timer: Timer | null = null;
  let isFailing = false;

  const changes = sqlite.query<{ value: number }, []>("SELECT value FROM event_marks WHERE name = 'changes'");
  const version = () => changes.get()?.value ?? 0;
  const count = (into: Database) =>
    into.run(
      "INSERT INTO event_marks VALUES ('changes', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1",
    );

  /** VACUUM INTO reads every page, so it never copies a damaged file over a good one. */
  function copy(): void {
    const part = `${copyPath}-${process.pid}`;
    for (let isNewest = false; !isNewest; ) {
      const before = version();
      makeFresh(part);
      file.read(() => sqlite.run("VACUUM INTO ?", [part]));
      syncToDisk(part);
      // Under the write lock: a command next to the daemon may have made a newer copy.
      isNewest = transaction(() => {
        if (version() !== before) return false;
        renameSync(part, copyPath);
        return true;
      });
    }
    syncToDisk(dirname(path));
    isCopied = true;
    copiedAt = performance.now();
  }

  /** Changes the existing copy, or deletes it, if a new copy fails, e.g. because state.db is damaged. */
  function changeCopy(work: (db: Db) => void): void {
    try {
      const other = new Database(copyPath, { readwrite: true, strict: true });
      try {
        other.run("PRAGMA synchronous = FULL");
        const write = other.transaction(() => {
          work(drizzle(other));
          count(other);
        });
        write.immediate();
      } finally {
        other.close();
      }
    } catch {
      // It would make a revoked key valid again.
      rmSync(copyPath, { force: true });
    }
  }

  function attempt(work: () => void): boolean {
    try {
      work();
      if (isFailing) log.info("The copy of the state is written again");
      isFailing = false;
      return true;
    } catch (error) {
      // Locks of other programs are temporary.
      if (!isFailing && !isBusy(error))
        log.warn("The copy of the state could not be written", { error: messageOf(error) });
      isFailing ||= !isBusy(error);
      return false;
    }
  }

  function writeSoon(ms: number): void {
    timer ??= setTimeout(() => {
      timer = null;
      writeWaiting();
    }, ms);
  }

  /** Writes the queue and copies the result, at most once per interval. */
  function writeWaiting(): void {
    const works = waiting;
    waiting = [];
    const writeAll = () => works.forEach((work) => void work(db));
    if (works.length > 0 && !attempt(() => transaction(writeAll))) {
      waiting = works.slice(-MAX_WAITING);
      writeSoon(COPY_MS);
      return;
    }
    isCopied &&= works.length === 0;
    if (isCopied) return;
    const wait = copiedAt + COPY_MS - performance.now();
    if (wait > 0) writeSoon(wait);
    else attempt(copy);
  }

  return {
    ...file,
    /**
     * Changes keys or secrets in one transaction. Returns when it is on disk in state.db and its copy. `work`
     * may run again on the copy and must be deterministic. Throws StoreError.
     */
    change<T>(work: (db: Db) => NotPromise<T>): T {
      const counted = () => {
        count(sqlite);
        return work(db);
      };
      const result = transaction<T>(counted, { durable: true });
      if (!attempt(copy)) changeCopy(work);
      return result;
    },
    /**
     * Repeats a write that was just committed in licmond.db. Does not throw: the next start restores missing
     * rows from licmond.db.
     */
    follow(work: (db: Db) => void): void {
      // Writes of one transaction of licmond.db stay one transaction here.
      if (waiting.push(work) === 1) queueMicrotask(writeWaiting);
    },
    /**
     * Makes the rows in both files equal at startup: licmond.db gets the rows that it lost, and its existing
     * rows win. Throws StoreError.
     */
    settle(history: Pick<DatabaseFile, "sqlite" | "transaction">): void {
      const lost = readRows(sqlite, GIVEN_BACK);
      history.transaction(() => putRows(history.sqlite, lost));
      const rows = readRows(history.sqlite, IN_BOTH);
      if (!Bun.deepEquals(rows, readRows(sqlite, IN_BOTH)))
        transaction(() => {
          for (const table of Object.keys(IN_BOTH)) sqlite.run(`DELETE FROM "${table}"`);
          putRows(sqlite, rows);
          isCopied = false;
        });
      if (!isCopied || markOf(copyPath, "changes") !== version()) attempt(copy);
    },
    close(isLast: boolean): void {
      writeWaiting();
      if (timer !== null) clearTimeout(timer);
      if (!isCopied) attempt(copy);
      file.close(isLast);
    },
  };
}
