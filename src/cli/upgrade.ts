import { existsSync, realpathSync } from "node:fs";
import { messageOf } from "../domain/error-code.ts";
import { isSystemdHost, kindOf, restartService, serviceState } from "../install/host.ts";
import { LAYOUT } from "../install/layout.ts";
import type { Pass } from "../install/pass.ts";
import { upgrade as exchange, goBack, type ServiceNow, STOP } from "../install/upgrade.ts";
import { command, flag } from "./command.ts";
import { hostFor, lines, misused, refusePackaged, runVerb, storageOf } from "./install.ts";
import { type CommandIo, EXIT_FAILURE, Failure } from "./io.ts";

const OLDER = "take an older version too; it refuses a database that a newer one has changed";

/** `licmond upgrade [FILE]`: another binary in the place of the installed one, and back when it does not start. */
export const upgrade = command({
  args: [["[file]", "the new binary (default: the one that runs this command)"]],
  options: {
    "allow-downgrade": flag(OLDER),
    rollback: flag("back to the binary that the last upgrade replaced, and to its database"),
    "dry-run": flag("print every step and change nothing"),
  },
  async run({ args: [named], options }, io) {
    const { rollback, "allow-downgrade": allowDowngrade, "dry-run": dryRun } = options;
    if (rollback && named !== undefined)
      throw misused("--rollback takes no file: it goes back to the previous one");
    // Without a file it is the binary of this process, when licmond does not run from its sources.
    const own = Bun.isStandaloneExecutable ? process.execPath : null;
    const wanted = rollback ? LAYOUT.previousBinary : (named ?? own);
    if (wanted === null || (named === undefined && wanted === LAYOUT.binary))
      throw misused(`${LAYOUT.binary} itself runs this: name the new binary`);
    const host = await hostFor(null, false, io);
    refusePackaged(host);
    const file = existsSync(wanted) ? realpathSync(wanted) : null;
    const none = rollback
      ? `there is no ${wanted}: nothing was upgraded yet`
      : `${wanted} is not a file that can be read`;
    if (file === null || kindOf(file) !== "file") throw new Failure(none);
    const hasService = kindOf(host.at(LAYOUT.unit)) === "file" && (await isSystemdHost(host.run));
    const runs = hasService && (await serviceState(host.run)).isActive;
    const service = runs ? "runs" : hasService ? "stopped" : "none";
    const storage = storageOf(host);
    const rollBackIn = rollback ? storage : null;
    const plan = { file, allowDowngrade: allowDowngrade || rollback, rollBackIn, service } as const;
    const { outcome, pass } = await runVerb((each) => exchange(each, plan), host, dryRun, false, io);
    if (outcome === "unchanged") io.out("Nothing to do: it is installed already.\n");
    else if (outcome === "changed") {
      const restart = hasService ? "" : "; restart what runs the other one";
      io.out(`${rollback ? "Went back" : "Upgraded"}${restart}.\n`);
    } else if (outcome === "failed") await undo(pass, service, storage, io);
  },
});

/** After a step that failed: what ran before, again. */
async function undo(pass: Pass, service: ServiceNow, storage: string | null, io: CommandIo): Promise<void> {
  const say = (words: string) => io.err(`licmond: ${words}\n`);
  try {
    if (pass.changed(LAYOUT.binary)) {
      await goBack(pass, service, storage);
      say(`went back to the version from before${service === "runs" ? ", which runs again" : ""}`);
    } else if (pass.changed(STOP)) {
      await restartService(pass.run);
      say("the installed version is as it was, and runs again");
    }
    // It fails before anything is in another's place, e.g. for want of room.
    else say("the installed version is as it was, and was not stopped");
  } catch (error) {
    io.exitCode(EXIT_FAILURE);
    say(`going back failed too: ${lines(messageOf(error))}
  If the database was migrated meanwhile, the older version refuses it: \`licmond restore\` puts the copy from before the migration, licmond.db.schema-* beside it, in its place.`);
  }
}
