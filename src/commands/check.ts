import type { Command } from "commander";
import { configOption, countOf, problemLines, withConfigOption } from "./config-option.ts";
import { type CommandIo, EXIT_FAILURE } from "./io.ts";
import { createReport } from "./report.ts";

/** `licmond check`: everything that would go wrong in the first week, before it does. */
export function registerCheck(program: Command, io: CommandIo): void {
  withConfigOption(program.command("check"))
    .description(
      "Checks the config, the tools, the storage directory, the port and the license servers' names.",
    )
    .addHelpText(
      "after",
      `
Run it as the user that runs the daemon. Exit codes: 0 all well, 1 with every problem.

Example:
  sudo -u licmond licmond check`,
    )
    .action(async (_options: unknown, command: Command) => {
      const { loadConfig } = await import("../config/find.ts");
      const loaded = loadConfig(configOption(command), io.env);
      const report = createReport(io);
      for (const warning of loaded.warnings) report.warning("config", warning);
      if (!loaded.ok) {
        for (const line of await problemLines(loaded)) report.problem("config", line, null);
      } else {
        const { config, file } = loaded;
        report.fine("config", file ?? "none: the defaults hold (licmond init writes one)");
        if (config.servers.length === 0) report.warning("config", "no server is configured");
        const { checkHost } = await import("./check-host.ts");
        await checkHost(config, io.env, report);
      }
      const count = report.problems();
      io.out(count === 0 ? "All is well.\n" : `${countOf(count, "problem")}.\n`);
      if (count > 0) io.exitCode(EXIT_FAILURE);
    });
}
