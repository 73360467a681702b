import { Command } from "commander";
import { MANAGERS } from "../managers/registry.ts";
import { withConfigOption } from "./config-option.ts";

/** What the command leaves behind, and the time at which it does. */
export interface SimulateIo {
  out(text: string): void;
  err(text: string): void;
  exitCode(code: number): void;
  /** Epoch ms. */
  now(): number;
}

const processIo: SimulateIo = {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  exitCode: (code) => {
    process.exitCode = code;
  },
  now: Date.now,
};

/**
 * `licmond simulate <manager> …`: behaves like the manager's own tool on a make-believe license server.
 * Everything behind the manager is taken as it stands, so the program must have positional options enabled.
 * It is started for every poll of `demo`: nothing is imported before it is needed.
 */
export function simulateCommand(io: SimulateIo = processIo): Command {
  // Taken as by every command; no setting changes what is simulated.
  const command = withConfigOption(new Command("simulate"))
    .summary("Behaves like a license manager's tool on a simulated server.")
    .description(
      "Prints what the manager's own tool would print now about a simulated license server, and exits as it would.",
    )
    .argument("<manager>", `license manager: ${MANAGERS.join(", ")}`)
    .argument("[arguments...]", "options below, then the tool's own arguments")
    .usage("<manager> [--server ID] [--seed N] [--timezone ZONE] <tool arguments>")
    .passThroughOptions()
    .addHelpText("after", OPTIONS);

  command.action(async (name: string, args: readonly string[]) => {
    if (!MANAGERS.includes(name)) {
      return command.error(`error: there is no manager "${name}"; there are ${MANAGERS.join(", ")}`, {
        exitCode: 2,
      });
    }
    if (args[0] === "--help") return command.outputHelp();
    const { managerOf } = await import("../managers/registry.ts");
    const { simulate, SimulateUsageError } = await import("../simulator/tool.ts");
    try {
      const { stdout, stderr, exitCode } = simulate(managerOf(name), args, io.now());
      if (stdout !== "") io.out(stdout);
      if (stderr !== "") io.err(stderr);
      io.exitCode(exitCode);
    } catch (error) {
      if (!(error instanceof SimulateUsageError)) throw error;
      command.error(`error: ${error.message}`, { exitCode: 2 });
    }
  });
  return command;
}

const OPTIONS = `
Before the tool's arguments:
  --server ID      which server: eda (busy, default), cae (triad with a member down), plm (two vendor daemons),
                   remote (silent for ten minutes of every hour), embedded (uncounted features);
                   media (default of rlm: pools, two ISVs)
  --seed N         another seed is another site (default 1)
  --timezone ZONE  whose working hours the people keep (default this host's)

Examples:
  licmond simulate flexnet --server cae lmstat -a -i -c 27010@a,27010@b,27010@c
  licmond simulate rlm rlmstat -a -c 5053@lic-media
  licmond simulate flexnet lmstat -a -i -c 27000@lic-eda | licmond parse --manager flexnet
`;
