import { type Command as CommanderCommand, InvalidArgumentError } from "commander";
import { isEncoding } from "../config/forms.ts";
import { isZone } from "../domain/time/zone.ts";
import { type CommandIo, processIo } from "./io.ts";

/** Command with its arguments and options. Its help text is in `help.txt` under its name. */
export interface Command<O extends Options = Options> {
  /** Arguments: `<file>` is required, `[file]` is optional, `[files...]` takes all remaining ones. */
  readonly args?: readonly (readonly [name: string, help: string])[];
  readonly options?: O;
  /** Usage line after the command's name; default: `[options]` and the arguments. */
  readonly usage?: string;
  /** Set if everything after the first argument is an argument, not an option. */
  readonly passesOn?: true;
  run(given: Given<O>, io: CommandIo): void | Promise<void>;
}

export type Options = Readonly<Record<string, Option<unknown>>>;

/** Parsed command line of a command. */
export interface Given<O extends Options = Options> {
  readonly args: readonly string[];
  readonly options: { readonly [Name in keyof O]: O[Name] extends Option<infer T> ? T : never };
  /** File of `--config`, before or after the command's name. */
  readonly config: string | undefined;
}

/** Group of subcommands. Each is loaded when it is used. */
export interface Group {
  readonly commands: Readonly<Record<string, () => Promise<Command | Group>>>;
}

/** Creates the whole command line. Passed to commands that need information on other commands. */
export type CreateProgram = (io: CommandIo, args?: readonly string[]) => Promise<CommanderCommand>;

/** Infers the argument types of `run`. */
export function command<O extends Options = Readonly<Record<never, never>>>(declared: Command<O>): Command {
  return declared;
}

/** Option whose value is a `T`. Use the functions below to create one. */
export interface Option<T> {
  readonly help: string;
  /** Name of the value in the help, e.g. `<file>`; absent for a flag. */
  readonly value?: string;
  readonly short?: string;
  readonly isRequired?: true;
  readonly isHidden?: true;
  readonly default?: T;
  readonly choices?: readonly T[];
  /**
   * Converts the text of the option; without it, the value is the text itself. `before` is the value of an
   * earlier occurrence.
   */
  read?(text: string, before: T): T;
}

export function flag(help: string): Option<boolean> {
  return { help };
}

export function text(value: string, help: string): Option<string | undefined> {
  return { help, value };
}

export function texts(value: string, help: string): Option<readonly string[] | undefined> {
  return { help, value, read: (text, before = []) => [...before, text] };
}

/**
 * How to convert the text of an option: a function, or the list of allowed values. The function throws
 * InvalidArgumentError with the expected form.
 */
export type Reader<T> = ((text: string) => T) | readonly T[];

export function option<T>(value: string, help: string, read: Reader<T>): Option<T | undefined> {
  return optionOr<T | undefined>(value, help, read, undefined);
}

export function optionOr<T>(value: string, help: string, read: Reader<T>, usual: T): Option<T> {
  const how = typeof read === "function" ? { read } : { choices: read };
  return { help, value, default: usual, ...how };
}

export function required<T>(value: string, help: string, read: Reader<T>): Option<T> {
  return { ...(option(value, help, read) as Option<T>), isRequired: true };
}

/** Creates a reader from a function that returns null for invalid texts. */
export function reader<T>(read: (text: string) => T | null, takes: string): (text: string) => T {
  return (given) => {
    const value = read(given);
    if (value === null) throw new InvalidArgumentError(takes);
    return value;
  };
}

export function integer(from: number, to: number, takes: string): (text: string) => number {
  const isOne = (given: string) => /^\d{1,15}$/.test(given) && Number(given) >= from && Number(given) <= to;
  return reader((given) => (isOne(given) ? Number(given) : null), takes);
}

export const ENCODING = reader(
  (given) => (isEncoding(given) ? given : null),
  'Expected the name of an encoding, e.g. "euc-kr".',
);

export const ZONE = reader(
  (given) => (isZone(given) ? given : null),
  'Expected an IANA time zone, e.g. "Europe/Berlin".',
);

/** Width of help texts in the man page: man(1) leaves this for indented text in 80 columns. */
const HELP_WIDTH = 71;

/**
 * Builds licmond(1) in man(7) macros from the `--help` of every command. `date` is a day such as
 * `2026-01-31`, or empty.
 */
export async function manPage(createProgram: CreateProgram, version: string, date: string): Promise<string> {
  let shown = "";
  const io = {
    ...processIo(),
    out: (text: string) => {
      shown += text;
    },
    // Do not depend on the width of the terminal at build time.
    terminal: { out: false, err: false, columns: HELP_WIDTH },
  };
  const program = await createProgram(io);
  const helpOf = (command: CommanderCommand): string => {
    shown = "";
    command.outputHelp();
    return `.EX\n${escaped(shown.trimEnd())}\n.EE`;
  };
  const commands = [...commandsOf(program, "licmond")];
  const sections = commands.map(([name, command]) => `.SS ${escaped(name)}\n${helpOf(command)}`);
  return `.TH LICMOND 1 "${date}" "licmond ${escaped(version)}" "User Commands"
.SH NAME
licmond \\- monitoring daemon for software license servers
.SH SYNOPSIS
.B licmond
[\\fIoptions\\fR] \\fIcommand\\fR
.SH DESCRIPTION
${helpOf(program)}
.SH COMMANDS
${sections.join("\n")}
.SH FILES
.TP
.I /etc/licmond/licmond.toml
The config. \\fBlicmond init \\-\\-output \\-\\fR prints one with every setting explained.
.TP
.I /var/lib/licmond
The database.
.TP
.I /run/licmond
The sockets by which root and the group licmond ask the daemon without a key.
.TP
.I \\(ti/.config/licmond/client.toml
\\fBurl\\fR and \\fBkey_file\\fR of the daemon that the commands for people ask; $LICMOND_URL and $LICMOND_API_KEY take precedence.
.SH SEE ALSO
.BR systemctl (1),
.BR systemd.unit (5)
`;
}

function* commandsOf(
  parent: CommanderCommand,
  title: string,
): Generator<readonly [string, CommanderCommand]> {
  for (const command of parent.commands) {
    const full = `${title} ${command.name()}`;
    yield [full, command];
    yield* commandsOf(command, full);
  }
}

/** Escapes roff requests and escapes. */
function escaped(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("'", "\\(aq")
    .replaceAll("`", "\\(ga")
    .replaceAll("^", "\\(ha")
    .replaceAll("~", "\\(ti")
    .replace(/^(?=[.'])/gm, "\\&");
}
