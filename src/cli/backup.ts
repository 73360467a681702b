import type { Command } from "commander";
import { printBytes } from "../domain/bytes.ts";
import { escapeControls } from "../domain/plain-text.ts";
import { backUp } from "../store/backup/back-up.ts";
import { databaseWork, printJson, verifyFile } from "./database-work.ts";
import { type CommandIo, readConfig } from "./io.ts";

interface BackupOptions {
  readonly force?: true;
  readonly verify?: true;
  readonly json?: true;
}

/** `licmond backup FILE`: one file of both databases, beside the running daemon. */
export function define(command: Command, io: CommandIo): void {
  command
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
    .action(async (file: string, { force, verify, json }: BackupOptions) => {
      if (verify === true) return verifyFile(io, file, json === true);
      const { directory } = (await readConfig(command, io)).config.storage;
      const began = io.now();
      const report = await databaseWork(
        io,
        { copy: `Copying the database to ${file}`, check: "Checking the copy" },
        (onStep, signal) => backUp({ directory, file, force: force === true, onStep, signal }),
      );
      const seconds = (io.now() - began) / 1000;
      const { bytes, rows } = report;
      io.err(
        `${escapeControls(report.path)}: ${printBytes(bytes)}, ${rows} rows, checked, in ${seconds.toFixed(1)} s\n`,
      );
      if (json === true) io.out(printJson(report, { seconds }));
    });
}
