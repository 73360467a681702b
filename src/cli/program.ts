import { closestWord } from "../config/closest-word.ts";
import { messageOf } from "../domain/error-code.ts";
import { escapeControls } from "../domain/plain-text.ts";
import { versionLine } from "../system/build-info.ts";
import { type Command, flag, type Group } from "./command.ts";
import { helpText, readWords, scan, unknownOption } from "./command-line.ts";
import { type CommandIo, EXIT_FAILURE, EXIT_USAGE, Failure, StdoutError, UsageError } from "./io.ts";

/**
 * The commands in the order of the help. Only the one that is asked for is loaded, because each imports all that it
 * works with: `simulate` is started for every poll of the demo.
 */
const PROGRAM: Group = {
  options: { version: { ...flag("print version and commit"), short: "V" } },
  commands: {
    serve: async () => (await import("./serve.ts")).serve,
    demo: async () => (await import("./demo.ts")).demo,
    init: async () => (await import("./init.ts")).init,
    check: async () => (await import("./check/check.ts")).check,
    probe: async () => (await import("./probe.ts")).probe,
    parse: async () => (await import("./parse.ts")).parse,
    keys: async () => (await import("./keys.ts")).keys,
    notify: async () => (await import("./notify.ts")).notify,
    simulate: async () => (await import("./simulate.ts")).simulate,
    export: async () => (await import("./export.ts")).exportTable,
    import: async () => (await import("./import.ts")).importFiles,
    install: async () => (await import("./install.ts")).install,
    upgrade: async () => (await import("./upgrade.ts")).upgrade,
    uninstall: async () => (await import("./install.ts")).uninstall,
    backup: async () => (await import("./backup.ts")).backup,
    restore: async () => (await import("./backup.ts")).restore,
    openapi: async () => (await import("./about.ts")).openapi,
    version: async () => (await import("./about.ts")).version,
  },
};

/** Runs a command line (without the program's own name). Never throws; the outcome is in `io.exitCode`. */
export async function runProgram(args: readonly string[], io: CommandIo): Promise<void> {
  try {
    await runWords([], PROGRAM, args, undefined, io);
  } catch (error) {
    if (error instanceof StdoutError) return io.exitCode(EXIT_FAILURE);
    if (error instanceof UsageError) {
      io.err(`error: ${error.message}\n`);
      return io.exitCode(EXIT_USAGE);
    }
    const { StoreError } = await import("../store/database/store-error.ts");
    const message = error instanceof StoreError ? `${error.message}. ${error.fix}` : messageOf(error);
    io.err(`licmond: ${message.split("\n").map(escapeControls).join("\n")}\n`);
    io.exitCode(error instanceof Failure ? error.exitCode : EXIT_FAILURE);
    const isExpected = error instanceof Failure || error instanceof StoreError;
    if (io.env.LICMOND_LOG_LEVEL === "debug" && error instanceof Error && !isExpected)
      io.err(`${error.stack ?? ""}\n`);
  }
}

/** Runs the words behind the names in `path`. `config`: the file that an option before them names. */
async function runWords(
  path: readonly string[],
  declared: Command | Group,
  words: readonly string[],
  config: string | undefined,
  io: CommandIo,
): Promise<void> {
  const ownHelp = () => helpText(path, declared, io.terminal.columns);
  if (!("commands" in declared)) {
    const given = readWords(path.at(-1) ?? "", declared, words);
    if (given === null) io.out(ownHelp());
    else await declared.run({ ...given, config: given.config ?? config }, io);
    return;
  }
  const { values, args, unknown } = scan(declared, words);
  if (values.has("version")) return io.out(`${versionLine(io.build)}\n`);
  if (unknown !== null && !values.has("help")) throw unknownOption(unknown, declared);
  const asksHelp = args[0] === "help";
  const [name, ...rest] = asksHelp ? args.slice(1) : args;
  const load = name === undefined ? null : new Map(Object.entries(declared.commands)).get(name);
  if (load === undefined) throw unknownCommand(name ?? "", declared);
  if (values.has("help") || (asksHelp && load === null)) return io.out(ownHelp());
  if (load === null) {
    io.err(ownHelp());
    return io.exitCode(EXIT_USAGE);
  }
  const named = values.get("config")?.at(-1) ?? config;
  await runWords([...path, name ?? ""], await load(), asksHelp ? ["--help"] : rest, named, io);
}

function unknownCommand(word: string, { commands }: Group): UsageError {
  const meant = closestWord(word, Object.keys(commands));
  return new UsageError(`unknown command '${word}'${meant === null ? "" : `\n(Did you mean ${meant}?)`}`);
}

/** Every command with its names, those of groups among them and the program itself first. */
export async function* everyCommand(
  path: readonly string[] = [],
  declared: Command | Group = PROGRAM,
): AsyncGenerator<readonly [path: readonly string[], declared: Command | Group]> {
  yield [path, declared];
  for (const [name, load] of "commands" in declared ? Object.entries(declared.commands) : [])
    yield* everyCommand([...path, name], await load());
}
