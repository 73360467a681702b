import { type Command as CommanderCommand, InvalidArgumentError } from "commander";
import { isEncoding } from "../config/forms.ts";
import { isZone } from "../domain/time/zone.ts";
import type { CommandIo } from "./io.ts";

/** Command with its arguments and options. Its help text is in `help.txt` under its name. */
export interface Command<O extends Options = Options> {
  /** Arguments: `<file>` is required, `[file]` is optional, `[files...]` takes all remaining ones. */
  readonly args?: readonly (readonly [name: string, help: string])[];
  readonly options?: O;
  /** Usage line after the command's name; default: `[options]` and the arguments. */
  readonly usage?: string;
  /** Treat everything after the first argument as arguments, not options. */
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
  /** Converts the text of the option; default: the text itself. `before`: value of an earlier occurrence. */
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

/** Converts the text of an option, or lists its allowed values. Throws InvalidArgumentError with the expected form. */
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
