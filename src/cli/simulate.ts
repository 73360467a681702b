import { MANAGERS, managerOf } from "../managers/registry.ts";
import { simulate as runTool, SimulateUsageError } from "../simulator/tool.ts";
import { command } from "./command.ts";
import { UsageError } from "./io.ts";

/** `licmond simulate <manager> …`: behaves like the manager's own tool on a make-believe license server. */
export const simulate = command({
  args: [
    ["<manager>", `license manager: ${MANAGERS.join(", ")}`],
    ["[arguments...]", "options below, then the tool's own arguments"],
  ],
  usage: "<manager> [--server ID] [--seed N] [--timezone ZONE] <tool arguments>",
  passesOn: true,
  run({ args: [name = "", ...args] }, io) {
    if (!MANAGERS.includes(name))
      throw new UsageError(`there is no manager "${name}"; there are ${MANAGERS.join(", ")}`);
    try {
      const { stdout, stderr, exitCode } = runTool(managerOf(name), args, "", io.now());
      if (stdout !== "") io.out(stdout);
      if (stderr !== "") io.err(stderr);
      io.exitCode(exitCode);
    } catch (error) {
      throw error instanceof SimulateUsageError ? new UsageError(error.message) : error;
    }
  },
});
