import { existsSync, realpathSync } from "node:fs";
import { messageOf } from "../domain/error-code.ts";
import { isSystemdHost, kindOf, restartService, serviceState } from "../install/host.ts";
import { LAYOUT } from "../install/layout.ts";
import type { Pass } from "../install/pass.ts";
import { upgrade as exchange, goBack, type ServiceNow, STOP } from "../install/upgrade.ts";
import { command, flag } from "./command.ts";
import { hostFor, lines, misused, refusePackaged, runVerb, storageOf } from "./install.ts";
import { type CommandIo, EXIT_FAILURE, Failure } from "./io.ts";

const OLDER = "allow an older version, which may reject the current database";

export const upgrade = command({
  args: [["[file]", "the new binary (default: the running one)"]],
  options: {
    "allow-downgrade": flag(OLDER),
    rollback: flag("restore the binary and database from before the last upgrade"),
    "dry-run": flag("print the steps without changing anything"),
  },
  async run({ args: [named], options }, io) {
    const { rollback, "allow-downgrade": allowDowngrade, "dry-run": dryRun } = options;
    if (rollback && named !== undefined)
      throw misused("--rollback takes no file: it restores the previous binary");
    // Default to this binary, unless licmond runs from sources.
    const own = Bun.isStandaloneExecutable ? process.execPath : null;
    const wanted = rollback ? LAYOUT.previousBinary : (named ?? own);
    if (wanted === null || (named === undefined && wanted === LAYOUT.binary))
      throw misused(`this is ${LAYOUT.binary} itself; pass the new binary`);
    const host = await hostFor(null, false, io);
    refusePackaged(host);
    const file = existsSync(wanted) ? realpathSync(wanted) : null;
    const none = rollback
      ? `${wanted} does not exist: nothing has been upgraded yet`
      : `${wanted} is not a readable file`;
    if (file === null || kindOf(file) !== "file") throw new Failure(none);
    const hasService = kindOf(host.at(LAYOUT.unit)) === "file" && (await isSystemdHost(host.run));
    const runs = hasService && (await serviceState(host.run)).isActive;
    const service = runs ? "runs" : hasService ? "stopped" : "none";
    const storage = storageOf(host);
    const rollBackIn = rollback ? storage : null;
    const plan = { file, allowDowngrade: allowDowngrade || rollback, rollBackIn, service } as const;
    const { outcome, pass } = await runVerb((each) => exchange(each, plan), host, dryRun, false, io);
    if (outcome === "unchanged") io.out("Nothing to do: already installed.\n");
    else if (outcome === "changed") {
      const restart = hasService ? "" : "; restart processes that run the old binary";
      io.out(`${rollback ? "Rolled back" : "Upgraded"}${restart}.\n`);
    } else if (outcome === "failed") await undo(pass, service, storage, io);
  },
});

async function undo(pass: Pass, service: ServiceNow, storage: string | null, io: CommandIo): Promise<void> {
  const say = (words: string) => io.err(`licmond: ${words}\n`);
  try {
    if (pass.changed(LAYOUT.binary)) {
      await goBack(pass, service, storage);
      say(`rolled back to the previous version${service === "runs" ? ", which is running again" : ""}`);
    } else if (pass.changed(STOP)) {
      await restartService(pass.run);
      say("the installed version is unchanged and running again");
    }
    // The step failed before anything was replaced, e.g. on a full disk.
    else say("the installed version is unchanged and was not stopped");
  } catch (error) {
    io.exitCode(EXIT_FAILURE);
    say(`rollback failed too: ${lines(messageOf(error))}
  If the database was migrated meanwhile, the older version rejects it: restore the copy from before the migration (licmond.db.schema-*, in the same directory) with \`licmond restore\`.`);
  }
}
