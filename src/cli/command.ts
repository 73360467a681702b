import { type Command as CommanderCommand, InvalidArgumentError } from "commander";
import { isEncoding } from "../config/forms.ts";
import { isZone } from "../domain/time/zone.ts";
import type { CommandIo } from "./io.ts";

/** A command: what it takes, and its work. What the help says of it stands in `help.txt` under its name. */
export interface Command<O extends Options = Options> {
  /** `<file>` must be given, `[file]` may be, `[files...]` takes all that follow; and what the help says of it. */
  readonly args?: readonly (readonly [name: string, help: string])[];
  /** By their names. */
  readonly options?: O;
  /** What the help shows after the command's name; absent: `[options]` and the arguments. */
  readonly usage?: string;
  /** Everything after the first argument is an argument too, whatever it looks like. */
  readonly passesOn?: true;
  run(given: Given<O>, io: CommandIo): void | Promise<void>;
}

export type Options = Readonly<Record<string, Option<unknown>>>;

/** What a command gets of a command line. */
export interface Given<O extends Options = Options> {
  /** As many as the command takes: those that must be given are there. */
  readonly args: readonly string[];
  readonly options: { readonly [Name in keyof O]: O[Name] extends Option<infer T> ? T : never };
  /** The file that `--config` names, before or after the command's name. */
  readonly config: string | undefined;
}

/** Commands below a name of their own, each loaded when it is asked for. */
export interface Group {
  readonly commands: Readonly<Record<string, () => Promise<Command | Group>>>;
}

/** Makes the whole command line; commands that tell of others take it. */
export type CreateProgram = (io: CommandIo, args?: readonly string[]) => Promise<CommanderCommand>;

/** Infers the types of what `run` gets. */
export function command<O extends Options = Readonly<Record<never, never>>>(declared: Command<O>): Command {
  return declared;
}

/** An option that gives its command a `T`; the functions below make one. */
export interface Option<T> {
  readonly help: string;
  /** What the help calls its value, e.g. `<file>`; absent: a flag. */
  readonly value?: string;
  /** One letter that stands for the name. */
  readonly short?: string;
  readonly isRequired?: true;
  readonly isHidden?: true;
  readonly default?: T;
  /** The words that it may be. */
  readonly choices?: readonly T[];
  /** What its text means; absent: itself. `before`: of an option that was given before, what that meant. */
  read?(text: string, before: T): T;
}

export function flag(help: string): Option<boolean> {
  return { help };
}

export function text(value: string, help: string): Option<string | undefined> {
  return { help, value };
}

/** One that may be given several times. */
export function texts(value: string, help: string): Option<readonly string[] | undefined> {
  return { help, value, read: (text, before = []) => [...before, text] };
}

/** What the text of an option means, or the words that it may be. Throws InvalidArgumentError with what it takes. */
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

/** Makes a reader of one that answers null for what it does not know. */
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
  'It takes the name of an encoding, e.g. "euc-kr".',
);

export const ZONE = reader(
  (given) => (isZone(given) ? given : null),
  'It takes an IANA time zone, e.g. "Europe/Berlin".',
);
