import type { Command as CommanderCommand } from "commander";
import { escapeControls } from "../../domain/plain-text.ts";
import type { ServerRecord } from "../../domain/records.ts";
import { COMPLETIONS } from "../../install/layout.ts";
import { managerNames } from "../../managers/registry.ts";
import { type Command, type CreateProgram, command } from "../command.ts";
import { type CommandIo, UsageError } from "../io.ts";
import { connect, type Features, licenses } from "./output.ts";

const PATIENCE_MS = 1_500;

/**
 * `licmond completion`: prints a shell script that calls `licmond completion words -- WORD…` for the candidates. The
 * script therefore always matches the binary, and completes names of features and servers.
 */
export function completionCommand(createProgram: CreateProgram): Command {
  return command({
    args: [
      ["<shell>", Object.keys(COMPLETIONS).join(", ")],
      ["[words...]", "words typed so far (used by the scripts)"],
    ],
    usage: "[options] <bash|zsh|fish>",
    async run({ args: [shell = "", ...words] }, io) {
      if (shell === "words") {
        const program = await createProgram(io, words);
        const found = await candidates(program, words, (what, part) => namesOf(what, part, io));
        return io.out(found.map((word) => `${word}\n`).join(""));
      }
      if (words.length > 0) throw new UsageError("too many arguments: expected the name of one shell");
      const script = Object.hasOwn(COMPLETIONS, shell) ? COMPLETIONS[shell] : undefined;
      const known = Object.keys(COMPLETIONS).join(", ");
      if (script === undefined) throw new UsageError(`unknown shell "${shell}"; expected one of ${known}`);
      io.out(script);
    },
  });
}

type What = "features" | "servers" | "managers";
type NamesOf = (what: What, part: string) => Promise<readonly string[]>;

/**
 * Returns the candidates for the last of the words after `licmond`. Returns none if the shell itself
 * completes the word, e.g. a file.
 */
async function candidates(program: CommanderCommand, words: readonly string[], namesOf: NamesOf) {
  // Bash splits `--server=eda` into three words.
  const typed = words
    .filter((word) => word !== "=")
    .flatMap((word) => /^(--[^=]+)=(.*)$/s.exec(word)?.slice(1) ?? [word])
    // Remove quotes and backslashes, because shells pass words as typed. A quote may still be open.
    .map((word) => word.replace(/\\([\s\S])|["']/g, "$1"));
  const part = typed.pop() ?? "";
  const fitting = (all: readonly string[]) =>
    all.filter((word) => word.toLowerCase().startsWith(part.toLowerCase()));
  let at = program;
  let placed = 0;
  let takesValue: CommanderCommand["options"][number] | undefined;
  for (const word of typed) {
    if (takesValue !== undefined) {
      takesValue = undefined;
      continue;
    }
    const option = at.options.find(({ long, short }) => word === long || word === short);
    if (option?.required) takesValue = option;
    if (word.startsWith("-")) continue;
    const below = at.commands.find((one) => one.name() === word);
    if (below === undefined) placed += 1;
    else at = below;
  }
  if (takesValue !== undefined) {
    if (takesValue.long === "--server") return fitting(await namesOf("servers", part));
    if (takesValue.long === "--manager") return fitting(await namesOf("managers", part));
    return fitting(takesValue.argChoices ?? []);
  }
  if (part.startsWith("-")) {
    const shown = at.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? "");
    return fitting([...shown, "--help"]);
  }
  if (at.commands.length > 0) return fitting(at.commands.map((one) => one.name()));
  const takes = at.registeredArguments;
  const argument = takes[placed] ?? (takes.at(-1)?.variadic ? takes.at(-1) : undefined);
  const name = argument?.name();
  if (name === "feature" || name === "glob") return fitting(await namesOf("features", part));
  if (name === "manager") return fitting(await namesOf("managers", part));
  return name === "shell" ? fitting(Object.keys(COMPLETIONS)) : [];
}

/** Returns names that the running daemon knows. Returns none after an error, because a shell shows no errors. */
async function namesOf(what: What, part: string, io: CommandIo): Promise<readonly string[]> {
  if (what === "managers") {
    const { loadConfig } = await import("../../config/load.ts");
    const loaded = loadConfig(undefined, io.env);
    return managerNames(loaded.ok ? loaded.config.managers : []);
  }
  const asked = (async () => {
    const client = await connect({ url: undefined, "key-file": undefined }, io);
    if (what === "servers") {
      const { servers } = await client.get<{ servers: readonly ServerRecord[] }>(licenses("servers"));
      return servers.map(({ id }) => id);
    }
    const path = licenses("features", { search: part || undefined });
    return (await client.get<Features>(path)).features.map(({ name }) => name);
  })().catch(() => []);
  const names = await Promise.race([asked, Bun.sleep(PATIENCE_MS).then(() => [])]);
  // Shells print names unescaped, so names with control characters are left out.
  return [...new Set(names)].filter((name) => escapeControls(name) === name).sort();
}
