/** Commits keys one after the other and says each name once it is committed. Arguments: directory, mode. */
import { createKeys } from "../../src/store/keys.ts";
import { openStore } from "../../src/store/open/open.ts";
import { plainKey } from "./plain-key.ts";
import { recordingLog } from "./recording-log.ts";

const [directory = "", mode] = process.argv.slice(2);
const store = openStore({
  directory,
  log: recordingLog(),
  mode: mode === "cli" ? "cli" : "daemon",
  lockWaitMs: 5_000,
});
const keys = createKeys({ store, clock: { now: () => Date.now() } });
for (let n = 0; ; n++) {
  const made = keys.create(plainKey({ name: `${process.pid}-${n}` }));
  if (made.outcome !== "created") throw new Error(made.outcome);
  process.stdout.write(`${made.presented}\n`);
  // SQLite hands its write lock to whoever asks first: commands that never pause would starve a daemon, and none does.
  if (mode === "cli") await Bun.sleep(1);
}
