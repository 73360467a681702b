import { type Command, InvalidArgumentError, Option } from "commander";
import type { ManagerName } from "../domain/words.ts";
import { isZone } from "../domain/zone.ts";
import { MANAGERS } from "../managers/registry.ts";
import { withConfigOption } from "./config-option.ts";
import { type CommandIo, fail, failPoll, toolWords } from "./io.ts";

/** The text was read, and its numbers are not whole. */
const EXIT_PARTIAL = 3;

interface ParseOptions {
  readonly manager: ManagerName;
  readonly timezone?: string;
  readonly server?: string;
}

/** `licmond parse`: what the daemon would understand of a tool's output. */
export function registerParse(program: Command, io: CommandIo): void {
  withConfigOption(program.command("parse"))
    .description("Reads a tool's output and prints it as the API's records: servers, features, users.")
    .argument("[file]", "the output; default, or -: stdin")
    .addOption(new Option("--manager <name>", "whose output it is").choices(MANAGERS).makeOptionMandatory())
    .option("--timezone <zone>", "zone in which the server prints its times (default: this host's)", zone)
    .option("--server <id>", "id of the server in the records (default: the manager's name)")
    .addHelpText(
      "after",
      `
Lines that no rule knows go to stderr, with their numbers.
Exit codes: 0 ok, 3 partial (the text is cut, or counts do not add up), 1 unusable.

Examples:
  lmutil lmstat -a -i -c 27000@lic1 | licmond parse --manager flexnet
  licmond parse --manager rlm rlmstat.txt | jq '.features[] | {name, used, total}'`,
    )
    .action(async (file: string | undefined, options: ParseOptions) => {
      const bytes = await input(file, io);
      const name = file === undefined || file === "-" ? "stdin" : file;
      if (bytes !== null) await parse(bytes, options, name, io);
    });
}

async function parse(bytes: Uint8Array, options: ParseOptions, name: string, io: CommandIo): Promise<void> {
  const { parseOutput } = await import("./parse-output.ts");
  const { picture, error } = parseOutput(bytes, { ...options, name, now: io.now() });
  for (const { line, text } of picture.unparsed) io.err(`line ${line}: ${toolWords(io, "err", text)}\n`);
  const untold = picture.unparsedLines - picture.unparsed.length;
  if (untold > 0) io.err(`and ${untold} more lines that no rule knows\n`);

  if (error?.code === "LICENSE_PARSE_ERROR") {
    const nothing = error.details === null;
    return fail(
      io,
      nothing ? `${name} is empty` : `${name} has nothing in it that ${options.manager}'s tool prints`,
    );
  }
  const { printRecords } = await import("./picture-output.ts");
  io.out(printRecords(picture));
  if (error !== null) failPoll(io, error);
  else io.exitCode(picture.state === "ok" ? 0 : EXIT_PARTIAL);
}

async function input(file: string | undefined, io: CommandIo): Promise<Uint8Array | null> {
  if (file === undefined || file === "-") return io.stdin();
  try {
    return await Bun.file(file).bytes();
  } catch (error) {
    fail(io, `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}

function zone(text: string): string {
  if (isZone(text)) return text;
  throw new InvalidArgumentError('It takes an IANA time zone, e.g. "Europe/Berlin".');
}
