import type { Command } from "commander";
import { printBytes } from "../domain/bytes.ts";
import { escapeControls } from "../domain/plain-text.ts";
import { readConfig, withConfigOption } from "./config-option.ts";
import type { CommandIo } from "./io.ts";

interface BackupOptions {
  readonly force?: true;
  readonly verify?: true;
  readonly json?: true;
}

/** `licmond backup FILE`: a copy of the database, beside the running daemon. */
export function registerBackup(program: Command, io: CommandIo): void {
  withConfigOption(program.command("backup"))
    .description("Copies the database into a file, as it is at one moment, also while the daemon runs.")
    .argument("<file>", "where the copy goes; it appears when it is whole and checked")
    .option("--force", "take the place of a file that is there")
    .option("--verify", "only read the file and tell what is in it: schema, rows, times, integrity")
    .option("--json", "print what is in the copy as JSON on stdout")
    .addHelpText(
      "after",
      `
The copy holds everything: history, sessions, logs, alerts, and the hashes of the API keys. It is made with mode 0600,
and whoever has it can read who used what: keep it as you keep the database. The daemon goes on meanwhile.

Examples:
  sudo licmond backup /var/backups/licmond-$(date +%F).db
  licmond backup --verify /var/backups/licmond-2026-01-31.db
  sudo licmond restore /var/backups/licmond-2026-01-31.db`,
    )
    .action(async (file: string, { force, verify, json }: BackupOptions, command: Command) => {
      const { databaseWork, verify: tellOf } = await import("./database-work.ts");
      if (verify === true) return tellOf(io, file, json === true);
      const found = await readConfig(command, io);
      if (found === null) return;
      const { backUp } = await import("../store/backup/back-up.ts");
      const { directory } = found.config.storage;
      const began = io.now();
      const report = await databaseWork(
        io,
        { copy: `Copying the database to ${file}`, check: "Checking the copy" },
        (onStep, signal) => backUp({ directory, file, force: force === true, onStep, signal }),
      );
      if (report === null) return;
      const seconds = (io.now() - began) / 1000;
      const { bytes, rows } = report;
      io.err(
        `${escapeControls(report.path)}: ${printBytes(bytes)}, ${rows} rows, checked, in ${seconds.toFixed(1)} s\n`,
      );
      if (json !== true) return;
      const { reportAsJson } = await import("./database-report.ts");
      io.out(`${JSON.stringify({ ...reportAsJson(report), seconds }, null, 2)}\n`);
    });
}
