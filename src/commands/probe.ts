import { type Command, Option } from "commander";
import type { ManagerName } from "../domain/words.ts";
import { MANAGERS } from "../managers/registry.ts";
import { readConfig, withConfigOption } from "./config-option.ts";
import { type CommandIo, EXIT_USAGE, failPoll, toolWords } from "./io.ts";

interface ProbeOptions {
  readonly json?: true;
  readonly raw?: true;
  readonly tool?: string;
}

/** `licmond probe`: one poll now, through the daemon's own collector. */
export function registerProbe(program: Command, io: CommandIo): void {
  withConfigOption(program.command("probe"))
    .description("Asks one license server once, now, and prints what it says. The daemon need not run.")
    .argument("<server>", `id of a configured server, or a manager: ${MANAGERS.join(", ")}`)
    .argument("[address]", "with a manager: the address, e.g. 27000@lic1")
    .option("--json", "print the API's records")
    .addOption(new Option("--raw", "print the tool's own words").conflicts("json"))
    .option("--tool <file>", "the tool to run instead of the configured one")
    .addHelpText(
      "after",
      `
Exit codes: 0 the server answered, 1 it did not, 2 usage.

Examples:
  licmond probe eda
  licmond probe flexnet 27000@lic1,27000@lic2,27000@lic3 --tool /opt/flexnet/lmutil
  licmond probe eda --raw > lmstat.txt`,
    )
    .action(async (named: string, address: string | undefined, options: ProbeOptions, command: Command) => {
      const found = await readConfig(command, io);
      if (found === null) return;
      const { servers, collector } = found.config;
      const configured = servers.find(({ id }) => id === named);
      if (address === undefined && configured === undefined) {
        const ids = servers.map(({ id }) => id).join(", ");
        const known = ids === "" ? "no server is configured" : `there are ${ids}`;
        return command.error(
          `error: no server "${named}" in the config (${known}); or give a manager and an address`,
          {
            exitCode: EXIT_USAGE,
          },
        );
      }
      const { manager, problem } = managerAt(named, address);
      if (problem !== null) return command.error(`error: ${problem}`, { exitCode: EXIT_USAGE });
      const { probe, adHocServer } = await import("./probe-server.ts");
      const server =
        manager !== null && address !== undefined
          ? adHocServer(manager, address, collector.timeoutMs)
          : configured;
      if (server === undefined) return;
      const { tool } = options;
      const { picture, outcome } = await probe(
        tool === undefined ? server : { ...server, tool: [tool] },
        io.env,
      );

      if (options.raw) {
        const { decodeOutput } = await import("../managers/read-output.ts");
        io.out(toolWords(io, "out", decodeOutput(outcome.raw.stdout)));
        io.err(toolWords(io, "err", decodeOutput(outcome.raw.stderr)));
      } else {
        const { printPicture, printRecords } = await import("./picture-output.ts");
        io.out(options.json ? printRecords(picture) : printPicture(picture, io.terminal.columns));
        for (const { line, text } of picture.unparsed)
          io.err(`line ${line} is unknown: ${toolWords(io, "err", text)}\n`);
      }
      const { error } = outcome;
      if (error !== null) failPoll(io, error);
    });
}

function managerAt(
  named: string,
  address: string | undefined,
): { readonly manager: ManagerName | null; readonly problem: string | null } {
  if (address === undefined) return { manager: null, problem: null };
  const manager = MANAGERS.find((each) => each === named) ?? null;
  const problem = `with an address comes a manager: ${MANAGERS.join(", ")}, not "${named}"`;
  return { manager, problem: manager === null ? problem : null };
}
