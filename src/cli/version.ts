import type { Command } from "commander";
import { versionLine } from "../system/build-info.ts";
import { withConfigOption } from "./config-option.ts";
import type { CommandIo } from "./io.ts";

/** `licmond version`: what `--version` prints, too. */
export function registerVersion(program: Command, io: CommandIo): void {
  withConfigOption(program.command("version").description("Prints version and commit."))
    .option("--licenses", "print the licenses of everything inside instead")
    .addHelpText("after", "\nExamples:\n  licmond version\n  licmond version --licenses | less")
    .action(async (options: { licenses?: boolean }) => {
      if (options.licenses !== true) return io.out(`${versionLine(io.build)}\n`);
      // A file beside the code and not a string in it, so that no other command has to load it.
      const { default: file } = await import("./third-party-licenses.txt", { with: { type: "file" } });
      io.out(await Bun.file(file).text());
    });
}
