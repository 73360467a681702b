import type { Command } from "commander";
import { printBytes } from "../domain/bytes.ts";
import { escapeControls } from "../domain/plain-text.ts";
import { iso } from "../domain/time/clock.ts";
import { type Restored, restore } from "../store/backup/restore.ts";
import { databaseWork, verifyFile } from "./database-work.ts";
import { type CommandIo, readConfig } from "./io.ts";

/** `licmond restore FILE`: a backup takes the place of the databases. */
export function define(command: Command, io: CommandIo): void {
  command
    .argument(
      "<file>",
      "what `licmond backup` wrote, one of the daily backups, or a copy of a licmond database",
    )
    .option("--verify", "only read the file and tell what is in it: schema, rows, times, integrity")
    .option("--json", "with --verify: as JSON")
    .addHelpText(
      "after",
      `
What is there is moved aside (licmond.db.replaced-<time>, state.db.replaced-<time>), never deleted; the file stays as it
is. A key that was revoked since the backup stays revoked. One made since then is gone with what came after the backup.
A daily backup of the state (backups/state-<time>.db) brings the keys back and leaves the history as it is.
A backup of an older licmond is upgraded when the daemon starts; one of a newer licmond is refused.

Example:
  sudo systemctl stop licmond
  sudo licmond restore /var/backups/licmond-2026-01-31.db
  sudo systemctl start licmond`,
    )
    .action(async (file: string, { verify, json }: { verify?: true; json?: true }) => {
      if (verify === true) return verifyFile(io, file, json === true);
      const { directory } = (await readConfig(command, io)).config.storage;
      const tell = (message: string) => io.err(`licmond: ${escapeControls(message)}\n`);
      const log = { debug() {}, info() {}, warn: tell, error: tell };
      const restored = await databaseWork(
        io,
        { copy: `Copying ${file}`, check: "Checking it" },
        (onStep, signal) => restore({ directory, file, now: io.now(), log, onStep, signal }),
      );
      io.err(describe(restored, file));
    });
}

function describe({ report, aside, revoked, lost }: Restored, file: string): string {
  const { path, bytes, rows, newestAt } = report;
  const until = newestAt === null ? "" : `, data until ${iso(newestAt)}`;
  const lines = [`${path} is ${file} now: ${printBytes(bytes)}, ${rows} rows${until}`];
  if (aside !== null) lines.push(`What was there is ${aside}`);
  if (revoked.length > 0) lines.push(`Revoked since the backup, and still revoked: ${revoked.join(", ")}`);
  if (lost.length > 0) lines.push(`Keys made since the backup, which are gone: ${lost.join(", ")}`);
  return lines.map((line) => `${escapeControls(line)}\n`).join("");
}
