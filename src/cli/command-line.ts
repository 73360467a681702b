import { parseArgs } from "node:util";
import { closestWord } from "../config/closest-word.ts";
import { type Command, flag, type Given, type Group, type Option, text } from "./command.ts";
import texts from "./help.txt" with { type: "text" };
import { UsageError } from "./io.ts";

const CONFIG = text("<file>", "config file (default: $LICMOND_CONFIG, else /etc/licmond/licmond.toml)");
const HELP: Option<boolean> = { ...flag("display help for command"), short: "h" };

/** By their names, with those that every command has. */
export function optionsOf({ options }: Command | Group): ReadonlyMap<string, Option<unknown>> {
  return new Map(Object.entries({ config: CONFIG, ...options, help: HELP }));
}

/** `-o, --output <file>` */
function flagsOf(name: string, { short, value }: Option<unknown>): string {
  return `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`;
}

/** `files` of `[files...]` */
function bareName(argument: string): string {
  return argument.replace(/^[<[]|(\.\.\.)?[>\]]$/g, "");
}

/**
 * Tells options from arguments; of a group, and where arguments are passed on, only those before the first argument.
 * `unknown` is the first word that looks like an option and is none.
 */
export function scan(declared: Command | Group, words: readonly string[]) {
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
  const options = Object.fromEntries(
    known.map(([each, its]) => {
      const given = values.get(each);
      try {
        return [each, its.take(given)];
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        const what = `option '${flagsOf(each, its)}' argument '${given?.at(-1)}'`;
        throw new UsageError(`${what} is invalid. ${error.message}`);
      }
    }),
  );
  if (options.help === true || (declared.passesOn && args[1] === "--help")) return null;
  const missing = known.find(([each, { isRequired }]) => isRequired && !values.has(each));
  if (missing !== undefined) throw new UsageError(`required option '${flagsOf(...missing)}' not specified`);
  if (unknown !== null) throw unknownOption(unknown, declared);
  checkArguments(name, declared, args);
  return { args, options, config: values.get("config")?.at(-1) };
}

function checkArguments(name: string, { args: known = [] }: Command, given: readonly string[]): void {
  const [absent] = known[given.length] ?? [""];
  if (absent.startsWith("<")) throw new UsageError(`missing required argument '${bareName(absent)}'`);
  if (given.length <= known.length || known.at(-1)?.[0].endsWith("...]")) return;
  const most = `${known.length} argument${known.length === 1 ? "" : "s"}`;
  const got = `${given.length}: ${given.join(", ")}`;
  throw new UsageError(`too many arguments for '${name}'. Expected ${most} but got ${got}.`);
}

export function unknownOption(word: string, declared: Command | Group): UsageError {
  const names = [...optionsOf(declared)].filter(([, { isHidden }]) => !isHidden).map(([name]) => name);
  const meant = word.startsWith("--") ? closestWord(word.slice(2), names) : null;
  return new UsageError(`unknown option '${word}'${meant === null ? "" : `\n(Did you mean --${meant}?)`}`);
}

/** What `help.txt` says of a command below its name in brackets: in one line, in its own help, and behind its options. */
function wordsOf(path: readonly string[]): {
  readonly does: string;
  readonly about: string;
  readonly more: string;
} {
  const parts = texts.split(/^\[([a-z ]+)\]\n/m);
  const text = parts[parts.indexOf(path.join(" ") || "licmond") + 1] ?? "";
  const [, does = "", about = does, more = ""] = /^(.*)\n(?:(.+)\n)?\n*([\s\S]*?)\n*$/.exec(text) ?? [];
  return { does, about, more };
}

/** Wide enough to be worth wrapping. */
const NARROWEST = 40;

/** The help of a command in lines of `width` characters; only what is said behind the options stands as it was written. */
export function helpText(path: readonly string[], declared: Command | Group, width = 80): string {
  const options = [...optionsOf(declared)].filter(([, { isHidden }]) => !isHidden);
  const isGroup = "commands" in declared;
  const args = isGroup ? [] : (declared.args ?? []);
  const below = isGroup
    ? Object.keys(declared.commands).map((name) => [name, wordsOf([...path, name]).does])
    : [];
  const lists = [
    ["Arguments:", args.map(([name, text]) => [bareName(name), text])],
    ["Options:", options.map(([name, its]) => [flagsOf(name, its), describe(its)])],
    ["Commands:", isGroup ? [...below, ["help", "display help for command"]] : []],
  ] as const;
  const column = Math.max(...lists.flatMap(([, rows]) => rows.map(([term = ""]) => term.length)));
  const row = ([term = "", text = ""]: readonly string[]) =>
    `  ${term.padEnd(column)}  ${wrap(text, width - column - 4).join(`\n${" ".repeat(column + 4)}`)}\n`;
  const { about, more } = wordsOf(path);
  const takes = isGroup
    ? `[options] ${path.length === 0 ? "<command>" : "[command]"}`
    : (declared.usage ?? ["[options]", ...args.map(([name]) => name)].join(" "));
  const shown = lists.filter(([, rows]) => rows.length > 0);
  const parts = [
    `Usage: ${["licmond", ...path, takes].join(" ")}\n`,
    `${wrap(about, width).join("\n")}\n`,
    ...shown.map(([head, rows]) => `${head}\n${rows.map(row).join("")}`),
    ...(more === "" ? [] : [`${more}\n`]),
  ];
  return parts.join("\n");
}

function describe({ help, choices = [], default: usual }: Option<unknown>): string {
  const notes =
    choices.length === 0 ? [] : [`choices: ${choices.map((each) => JSON.stringify(each)).join(", ")}`];
  if (usual !== undefined) notes.push(`default: ${JSON.stringify(usual)}`);
  return notes.length === 0 ? help : `${help} (${notes.join(", ")})`;
}

function wrap(text: string, width: number): string[] {
  if (width < NARROWEST) return [text];
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
