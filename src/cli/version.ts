import type { Command } from "commander";
import { versionLine } from "../system/build-info.ts";
import type { CommandIo } from "./io.ts";

/** `licmond version`: what `--version` prints, too. */
export function define(command: Command, io: CommandIo): void {
  command
    .option("--licenses", "print the licenses of everything inside instead")
    .action(async ({ licenses }: { licenses?: true }) => {
      if (licenses !== true) return io.out(`${versionLine(io.build)}\n`);
      // A file beside the code and not a string in it, so that nothing else has to load it.
      const { default: file } = await import("./third-party-licenses.txt", { with: { type: "file" } });
      io.out(await Bun.file(file).text());
    });
}
