import type { Command } from "commander";
import { MANAGERS, managerOf } from "../managers/registry.ts";
import { SimulateUsageError, simulate } from "../simulator/tool.ts";
import { type CommandIo, refuseUsage } from "./io.ts";

/**
 * `licmond simulate <manager> …`: behaves like the manager's own tool on a make-believe license server.
 * Everything behind the manager is taken as it stands, so the program must have positional options enabled.
 */
export function define(command: Command, io: Pick<CommandIo, "out" | "err" | "exitCode" | "now">): void {
  command
    .description(
      "Prints what the manager's own tool would print now about a simulated license server, and exits as it would.",
    )
    .argument("<manager>", `license manager: ${MANAGERS.join(", ")}`)
    .argument("[arguments...]", "options below, then the tool's own arguments")
    .usage("<manager> [--server ID] [--seed N] [--timezone ZONE] <tool arguments>")
    .passThroughOptions()
    .action((name: string, args: readonly string[]) => {
      if (!MANAGERS.includes(name))
        return refuseUsage(command, `there is no manager "${name}"; there are ${MANAGERS.join(", ")}`);
      if (args[0] === "--help") return command.outputHelp();
      try {
        const { stdout, stderr, exitCode } = simulate(managerOf(name), args, io.now());
        if (stdout !== "") io.out(stdout);
        if (stderr !== "") io.err(stderr);
        io.exitCode(exitCode);
      } catch (error) {
        if (!(error instanceof SimulateUsageError)) throw error;
        refuseUsage(command, error.message);
      }
    });
}
