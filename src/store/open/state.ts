import { Database } from "bun:sqlite";
import { renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf } from "../../domain/error-code.ts";
import type { Log } from "../../domain/log.ts";
import { isBusy } from "../database/busy.ts";
import type { DatabaseFile } from "../database/database-file.ts";
import { makeFresh, syncToDisk } from "../database/files.ts";
import { copyState } from "../database/precious.ts";
import type { NotPromise, RunTransaction } from "../database/transaction.ts";
import { markOf } from "./state-files.ts";

/** Changes other than of keys share one copy within this time. A copy takes about 5 ms with 1,000 keys. */
const COPY_MS = 1_000;

/** `state.db`: keys, secrets, alerts, the reserve of ids, and the newest audit lines for a new licmond.db. */
export function createStateFile(file: DatabaseFile, copyPath: string, log: Log) {
  const { path, sqlite, transaction } = file;
  let timer: Timer | null = null;
  let isFailing = false;

  const changes = sqlite.query<{ value: number }, []>("SELECT value FROM event_marks WHERE name = 'changes'");
  const version = () => changes.get()?.value ?? 0;
  const count = (into: Database) =>
    into.run(
      "INSERT INTO event_marks VALUES ('changes', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1",
    );

  /** Reads every copied row, so it never copies a damaged one over a good one. */
  function copy(): void {
    const part = `${copyPath}-${process.pid}`;
    for (let isNewest = false; !isNewest; ) {
      const before = version();
      makeFresh(part);
      file.read(() => copyState(sqlite, part));
      syncToDisk(part);
      // Under the write lock: a command next to the daemon may have made a newer copy.
      isNewest = transaction(() => {
        if (version() !== before) return false;
        renameSync(part, copyPath);
        return true;
      });
    }
    syncToDisk(dirname(path));
    if (timer !== null) clearTimeout(timer);
    timer = null;
  }

  /** Changes the existing copy, or deletes it, if a new copy fails, e.g. because state.db is damaged. */
  function changeCopy(work: (sqlite: Database) => void): void {
    try {
      using other = new Database(copyPath, { readwrite: true, strict: true });
      other.run("PRAGMA synchronous = FULL");
      other
        .transaction(() => {
          work(other);
          count(other);
        })
        .immediate();
    } catch {
      // It would make a revoked key valid again.
      rmSync(copyPath, { force: true });
    }
  }

  function attemptCopy(): boolean {
    try {
      copy();
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

  function copySoon(): void {
    timer ??= setTimeout(() => {
      timer = null;
      if (!attemptCopy()) copySoon();
    }, COPY_MS);
  }

  return {
    ...file,
    /**
     * Changes keys or secrets in one transaction. Returns when it is on disk in state.db and its copy. `work`
     * may run again on the copy and must be deterministic. Throws StoreError.
     */
    change<T>(work: (sqlite: Database) => NotPromise<T>): T {
      const counted = () => {
        count(sqlite);
        return work(sqlite);
      };
      const result = transaction<T>(counted, { durable: true });
      if (!attemptCopy()) changeCopy(work);
      return result;
    },
    /** Changes other rows in one transaction; the copy follows within a second. Throws StoreError. */
    write: ((work, options) => {
      const result = transaction(work, options);
      copySoon();
      return result;
    }) as RunTransaction,
    copyIfOld(): void {
      if (markOf(copyPath, "changes") !== version()) attemptCopy();
    },
    close(isLast: boolean): void {
      if (timer !== null) attemptCopy();
      if (timer !== null) clearTimeout(timer);
      file.close(isLast);
    },
  };
}
