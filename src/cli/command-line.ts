import { parseArgs } from "node:util";
import { closestWord } from "../config/closest-word.ts";
import { type Command, flag, type Given, type Group, type Option, text } from "./command.ts";
import { UsageError } from "./io.ts";

const CONFIG = text("<file>", "config file (default: $LICMOND_CONFIG, else /etc/licmond/licmond.toml)");
const HELP: Option<boolean> = { ...flag("display help for command"), short: "h" };

/** By their names, with those that every command has. */
export function optionsOf({ options }: Command | Group): ReadonlyMap<string, Option<unknown>> {
  return new Map(Object.entries({ config: CONFIG, ...options, help: HELP }));
}

/** `-o, --output <file>` */
export function flagsOf(name: string, { short, value }: Option<unknown>): string {
  return `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`;
}

/** `files` of `[files...]` */
export function bareName(argument: string): string {
  return argument.replace(/^[<[]|(\.\.\.)?[>\]]$/g, "");
}

interface Scanned {
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly args: readonly string[];
  /** The first word that looks like an option and is none. */
  readonly unknown: string | null;
}

/** Tells options from arguments; of a group, and where arguments are passed on, only those before the first argument. */
export function scan(declared: Command | Group, words: readonly string[]): Scanned {
  const known = optionsOf(declared);
  const isCut = "commands" in declared || declared.passesOn === true;
  const types = [...known].map(([name, { value, short }]) => {
    const type = value === undefined ? ("boolean" as const) : ("string" as const);
    return [name, short === undefined ? { type } : { type, short }] as const;
  });
  const options = Object.fromEntries(types);
  const { tokens } = parseArgs({ args: [...words], options, strict: false, tokens: true });
  const values = new Map<string, string[]>();
  const args: string[] = [];
  let unknown: string | null = null;
  for (const token of tokens) {
    if (token.kind === "positional" && isCut) return { values, args: words.slice(token.index), unknown };
    if (token.kind === "positional") args.push(token.value);
    if (token.kind !== "option") continue;
    const found = known.get(token.name);
    if (found === undefined || (found.value === undefined && token.value !== undefined))
      unknown ??= words[token.index] ?? null;
    else if (found.value !== undefined && token.value === undefined)
      throw new UsageError(`option '${flagsOf(token.name, found)}' argument missing`);
    else values.getOrInsertComputed(token.name, () => []).push(token.value ?? "");
  }
  return { values, args, unknown };
}

/** Reads the words behind a command's name; null when they ask for its help. Throws UsageError. */
export function readWords(name: string, declared: Command, words: readonly string[]): Given | null {
  const { values, args, unknown } = scan(declared, words);
  const known = [...optionsOf(declared)];
  const options = Object.fromEntries(known.map(([each, its]) => [each, readOption(each, its, values)]));
  if (options.help === true || (declared.passesOn && args[1] === "--help")) return null;
  const missing = known.find(([each, { isRequired }]) => isRequired && !values.has(each));
  if (missing !== undefined) throw new UsageError(`required option '${flagsOf(...missing)}' not specified`);
  if (unknown !== null) throw unknownOption(unknown, declared);
  const read = readArguments(name, declared, args) as Given["args"];
  return { args: read, options, config: options.config as string | undefined };
}

function readOption(name: string, its: Option<unknown>, values: Scanned["values"]): unknown {
  const given = values.get(name);
  try {
    return its.take(given);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(
      `option '${flagsOf(name, its)}' argument '${given?.at(-1)}' is invalid. ${error.message}`,
    );
  }
}

function readArguments(name: string, { args: known = [] }: Command, given: readonly string[]) {
  const isEndless = known.at(-1)?.[0].endsWith("...]") ?? false;
  if (given.length > known.length && !isEndless) {
    const most = `${known.length} argument${known.length === 1 ? "" : "s"}`;
    const got = `${given.length}: ${given.join(", ")}`;
    throw new UsageError(`too many arguments for '${name}'. Expected ${most} but got ${got}.`);
  }
  return known.map(([each], index) => {
    if (each.endsWith("...]")) return given.slice(index);
    if (each.startsWith("<") && given[index] === undefined)
      throw new UsageError(`missing required argument '${bareName(each)}'`);
    return given[index];
  });
}

export function unknownOption(word: string, declared: Command | Group): UsageError {
  const names = [...optionsOf(declared)].filter(([, { isHidden }]) => !isHidden).map(([name]) => name);
  const meant = word.startsWith("--") ? closestWord(word.slice(2), names) : null;
  return new UsageError(`unknown option '${word}'${meant === null ? "" : `\n(Did you mean --${meant}?)`}`);
}
