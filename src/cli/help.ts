import type { Command, Group, Option } from "./command.ts";
import { bareName, flagsOf, optionsOf } from "./command-line.ts";
import texts from "./help.txt" with { type: "text" };

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
