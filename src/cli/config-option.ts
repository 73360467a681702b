import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import type { LoadedConfig } from "../config/find.ts";
import { type CommandIo, fail } from "./io.ts";

/** Gives a command the option that all have. */
export function withConfigOption(command: Command): Command {
  return command.option(
    "--config <file>",
    "config file (default: $LICMOND_CONFIG, else /etc/licmond/licmond.toml)",
  );
}

/** The file named by `--config`, before or behind the command's name. */
export function configOption(command: Command): string | undefined {
  const value: unknown = command.optsWithGlobals().config;
  return typeof value === "string" ? value : undefined;
}

/** Reads the config for a command. Warnings and problems go to stderr, all at once; null = it cannot be used. */
export async function readConfig(
  command: Command,
  io: CommandIo,
): Promise<{ readonly config: Config; readonly file: string | null } | null> {
  const { loadConfig } = await import("../config/find.ts");
  const loaded = loadConfig(configOption(command), io.env);
  for (const warning of loaded.warnings) io.err(`licmond: warning: ${warning}\n`);
  if (loaded.ok) return { config: loaded.config, file: loaded.file };
  for (const line of await problemLines(loaded)) io.err(`${line}\n`);
  fail(io, `the config cannot be used: ${countOf(loaded.problems.length, "problem")}`);
  return null;
}

/** One line a problem. */
export async function problemLines(loaded: LoadedConfig): Promise<string[]> {
  const { printProblem } = await import("../config/problem.ts");
  return loaded.ok ? [] : loaded.problems.map(printProblem);
}

export function countOf(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
