import type { Command } from "commander";
import { configOption, countOf, problemLines, withConfigOption } from "./config-option.ts";
import { type CommandIo, EXIT_FAILURE, mayColour } from "./io.ts";

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

/** Takes findings one by one and prints each as it comes. */
export interface Report {
  fine(what: string, message: string): void;
  warning(what: string, message: string): void;
  /** `fix`: what to do about it; null when the message says so. */
  problem(what: string, message: string, fix: string | null): void;
}

function createReport(io: CommandIo): Report & { problems(): number } {
  const colour = mayColour(io, "out");
  let problems = 0;
  const line = (mark: string, paint: string, what: string, message: string) =>
    io.out(`${colour ? `\x1b[${paint}m${mark}\x1b[0m` : mark}  ${what}: ${message}\n`);
  return {
    fine: (what, message) => line("ok     ", "32", what, message),
    warning: (what, message) => line("warning", "33", what, message),
    problem(what, message, fix) {
      problems += 1;
      line("PROBLEM", "31", what, message);
      if (fix !== null) io.out(`         fix: ${fix}\n`);
    },
    problems: () => problems,
  };
}
