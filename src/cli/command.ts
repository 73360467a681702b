import { InvalidArgumentError } from "commander";
import { isZone } from "../domain/time/zone.ts";
import type { CommandIo } from "./io.ts";

/** A command: what it takes, and its work. What the help says of it stands in `help.txt` under its name. */
export interface Command<O extends Options = Options> {
  /** `<file>` must be given, `[file]` may be, `[files...]` takes all that follow; and what the help says of it. */
  readonly args?: readonly (readonly [name: string, help: string])[];
  /** By their names. */
  readonly options?: O;
  /** What the help shows behind the command's name; absent: `[options]` and the arguments. */
  readonly usage?: string;
  /** Everything behind the first argument is an argument too, whatever it looks like. */
  readonly passesOn?: true;
  run(given: Given<O>, io: CommandIo): void | Promise<void>;
}

export type Options = Readonly<Record<string, Option<unknown>>>;

/** What a command gets of a command line. */
export interface Given<O extends Options = Options> {
  /** As many as the command takes: those that must be given are there. */
  readonly args: readonly string[];
  readonly options: { readonly [Name in keyof O]: O[Name] extends Option<infer T> ? T : never };
  /** The file that `--config` names, before or behind the command's name. */
  readonly config: string | undefined;
}

/** Commands below a name of their own, each loaded when it is asked for. */
export interface Group {
  readonly commands: Readonly<Record<string, () => Promise<Command | Group>>>;
}

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
  /** For the help. */
  readonly choices?: readonly string[] | undefined;
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

/** What the text of an option means. Throws InvalidArgumentError with what the option takes. */
export interface Reader<T> {
  (text: string): T;
  readonly choices?: readonly string[];
}

export function option<T>(value: string, help: string, read: Reader<T>): Option<T | undefined> {
  return optionOr<T | undefined>(value, help, read, undefined);
}

export function optionOr<T>(value: string, help: string, read: Reader<T>, usual: T): Option<T> {
  return { help, value, read, default: usual, choices: read.choices };
}

export function required<T>(value: string, help: string, read: Reader<T>): Option<T> {
  return { ...(option(value, help, read) as Option<T>), isRequired: true };
}

/** Makes a reader of one that answers null for what it does not know. */
export function reader<T>(read: (text: string) => T | null, takes: string): Reader<T> {
  return (given) => {
    const value = read(given);
    if (value === null) throw new InvalidArgumentError(takes);
    return value;
  };
}

export function integer(from: number, to: number, takes: string): Reader<number> {
  const isOne = (given: string) => /^\d{1,15}$/.test(given) && Number(given) >= from && Number(given) <= to;
  return reader((given) => (isOne(given) ? Number(given) : null), takes);
}

export function oneOf<T extends string>(choices: readonly T[]): Reader<T> {
  const takes = `Allowed choices are ${choices.join(", ")}.`;
  const read = reader((given) => choices.find((choice) => choice === given) ?? null, takes);
  return Object.assign(read, { choices });
}

export const ZONE = reader(
  (given) => (isZone(given) ? given : null),
  'It takes an IANA time zone, e.g. "Europe/Berlin".',
);
