import type { Command } from "commander";
import { countOf, readConfig, withConfigOption } from "./config-option.ts";
import { type CommandIo, EXIT_FAILURE, EXIT_USAGE, fail } from "./io.ts";
import { createReport } from "./report.ts";

/** How long one target may take. */
const TIMEOUT_MS = 30_000;

/** `licmond notify --test`: whether alerts reach somebody, before there are any. */
export function registerNotify(program: Command, io: CommandIo): void {
  withConfigOption(program.command("notify"))
    .description("Sends a test message to every configured notification target, and says what came of it.")
    .option("--test", "send the test message (nothing else can be sent)")
    .addHelpText(
      "after",
      `
Run it as the user that runs the daemon: it must be able to read the secret files. The daemon need not run.
Exit codes: 0 every target took it, 1 one did not or there is none, 2 usage.

Example:
  sudo -u licmond licmond notify --test`,
    )
    .action(async ({ test }: { test?: true }, command: Command) => {
      if (test !== true)
        return command.error("error: notify takes --test: it sends a test message", { exitCode: EXIT_USAGE });
      const found = await readConfig(command, io);
      if (found === null) return;
      const { notifications } = found.config;
      if (notifications.length === 0) {
        return fail(io, "there is nobody to tell: the config has no [[notifications]]");
      }
      const { createTestMessages } = await import("./test-messages.ts");
      const report = createReport(io);
      for (const { name, send } of createTestMessages(notifications, io)) {
        try {
          const remark = await send(AbortSignal.timeout(TIMEOUT_MS));
          if (remark === null) report.fine(name, "it was taken");
          else report.problem(name, remark, null);
        } catch (error) {
          report.problem(name, error instanceof Error ? error.message : String(error), null);
        }
      }
      const count = report.problems();
      if (count === 0) return;
      io.out(`${countOf(count, "problem")}.\n`);
      io.exitCode(EXIT_FAILURE);
    });
}
