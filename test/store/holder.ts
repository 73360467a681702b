/** A licmond that opens a store, says so, and holds it until its input ends. Arguments: directory, mode. */

import { StoreError } from "../../src/store/database/store-error.ts";
import { openStore } from "../../src/store/open/open.ts";
import { recordingLog } from "./recording-log.ts";

const [directory = "", mode = "daemon"] = process.argv.slice(2);
try {
  const store = openStore({
    directory,
    log: recordingLog(),
    mode: mode === "cli" ? "cli" : "daemon",
    lockWaitMs: 0,
  });
  console.log("open");
  await Bun.stdin.text();
  store.close();
} catch (error) {
  if (!(error instanceof StoreError)) throw error;
  console.log(JSON.stringify({ code: error.code, message: error.message, fix: error.fix }));
}
