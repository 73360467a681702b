/**
 * Opens a store and holds it until the input ends. Arguments: the directory, the mode ("daemon", "cli"),
 * and optionally "write", which commits keys one after the other and prints each key after its commit.
 */
import { StoreError } from "../../src/store/database/store-error.ts";
import { createKeys } from "../../src/store/keys.ts";
import { openStore } from "../../src/store/open/open.ts";
import { plainKey } from "./plain-key.ts";
import { recordingLog } from "./recording-log.ts";

const [directory = "", mode, work] = process.argv.slice(2);
const lockWaitMs = work === "write" ? 5_000 : 0;
try {
  const store = openStore({
    directory,
    log: recordingLog(),
    lockWaitMs,
    mode: mode === "cli" ? mode : "daemon",
  });
  if (work === undefined) console.log("open");
  const keys = createKeys({ store, clock: { now: () => Date.now() } });
  for (let n = 0; work === "write"; n++) {
    const made = keys.create(plainKey({ name: `${process.pid}-${n}` }));
    if (made.outcome !== "created") throw new Error(made.outcome);
    process.stdout.write(`${made.presented}\n`);
    // SQLite's write lock is not fair: commands that never pause would starve a daemon.
    if (mode === "cli") await Bun.sleep(1);
  }
  await Bun.stdin.text();
  store.close();
} catch (error) {
  if (!(error instanceof StoreError)) throw error;
  console.log(JSON.stringify({ code: error.code, message: error.message, fix: error.fix }));
}
