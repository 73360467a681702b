import { MANAGERS, managerOf } from "../managers/registry.ts";
import { simulate as runTool, SIMULATED, SimulateUsageError } from "../simulator/tool.ts";
import { command } from "./command.ts";
import { UsageError, wholeStdin } from "./io.ts";

export const simulate = command({
  args: [
    ["<manager>", `license manager: ${SIMULATED.join(", ")}`],
    ["[arguments...]", "options below, then the tool's own arguments"],
  ],
  usage: "<manager> [--server ID] [--seed N] [--timezone ZONE] <tool arguments>",
  passesOn: true,
  async run({ args: [name = "", ...args] }, io) {
    if (!MANAGERS.includes(name))
      throw new UsageError(`unknown manager "${name}"; can simulate ${SIMULATED.join(", ")}`);
    const manager = managerOf(name);
    // Do not wait for the end of stdin if the tool does not read it.
    const isTold = manager.simulatedTool?.readsStdin?.(args) === true;
    const stdin = isTold ? new TextDecoder().decode(await wholeStdin(io)) : "";
    try {
      const { stdout, stderr, exitCode } = runTool(manager, args, stdin, io.now());
      if (stdout !== "") io.out(stdout);
      if (stderr !== "") io.err(stderr);
      io.exitCode(exitCode);
    } catch (error) {
      throw error instanceof SimulateUsageError ? new UsageError(error.message) : error;
    }
  },
});
