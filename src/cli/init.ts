import type { Command } from "commander";
import { codeOf } from "../domain/error-code.ts";
import { configOption, withConfigOption } from "./config-option.ts";
import { type CommandIo, fail } from "./io.ts";

/** `licmond init`: a commented config to start from. */
export function registerInit(program: Command, io: CommandIo): void {
  withConfigOption(program.command("init"))
    .description("Writes a commented config file. It never writes over one that is there.")
    .option("--output <file>", "where to write it (default: what --config names), - for stdout")
    .addHelpText(
      "after",
      `
Examples:
  sudo licmond init                       # /etc/licmond/licmond.toml
  licmond init --output ./licmond.toml
  licmond init --output - | less`,
    )
    .action(async (options: { output?: string }, command: Command) => {
      const { INITIAL_CONFIG } = await import("./initial-config.ts");
      if (options.output === "-") return io.out(INITIAL_CONFIG);
      const { configFile } = await import("../config/find.ts");
      const { file } = configFile(options.output ?? configOption(command), io.env);
      const problem = await writeNew(file, INITIAL_CONFIG);
      if (problem !== null) return fail(io, problem);
      io.out(
        `${file} is written. Name your license servers in it, then:\n  licmond check --config ${file}\n`,
      );
    });
}

/**
 * Writes a file that is not there yet; says why not, with the fix. It is no business of everybody: a web hook's address
 * is a secret. What root writes belongs to the directory's group, which is the service's in /etc/licmond.
 */
async function writeNew(file: string, text: string): Promise<string | null> {
  const { chown, mkdir, stat, writeFile } = await import("node:fs/promises");
  const { dirname } = await import("node:path");
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { flag: "wx", mode: 0o640 });
    if (process.getuid?.() === 0) await chown(file, 0, (await stat(dirname(file))).gid);
    return null;
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") return `${file} is there already and stays as it is; --output names another place`;
    if (code === "EROFS")
      return `${file} lies on a file system that is mounted read-only (EROFS); --output names another place`;
    if (code === "EACCES" || code === "EPERM")
      return `${file} cannot be written by this user; use sudo, or --output with another place`;
    return `${file} cannot be written: ${error instanceof Error ? error.message : String(error)}`;
  }
}
