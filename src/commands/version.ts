import type { Command } from "commander";
import { versionLine } from "../system/build-info.ts";
import { withConfigOption } from "./config-option.ts";
import type { CommandIo } from "./io.ts";

/** `licmond version`: what `--version` prints, too. */
export function registerVersion(program: Command, io: CommandIo): void {
  withConfigOption(program.command("version").description("Prints version and commit."))
    .addHelpText("after", "\nExample:\n  licmond version")
    .action(() => io.out(`${versionLine(io.build)}\n`));
}
