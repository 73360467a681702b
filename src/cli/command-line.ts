import { type Command as CommanderCommand, Option as CommanderOption } from "commander";
import { type Command, type Group, type Option, text } from "./command.ts";
import texts from "./help.txt" with { type: "text" };
import type { CommandIo } from "./io.ts";

const CONFIG = text("<file>", "config file (default: $LICMOND_CONFIG, else /etc/licmond/licmond.toml)");

/**
 * Declares a command to commander: arguments, options, help and the function to run. Loads the subcommands in `words`, or
 * all of them without `words`. `title`: full name of the command, as in `help.txt`.
 */
export async function define(
  commander: CommanderCommand,
  title: string,
  declared: Command | Group,
  io: CommandIo,
  words?: readonly string[],
): Promise<void> {
  const { about, more } = wordsOf(title);
  const width = io.terminal.columns ?? 80;
  // Join the lines of a paragraph; keep indented lines.
  const paragraphs = more.replace(/(?<=^\S.*)\n(?=\S)/gm, " ");
  const wrapped = paragraphs.replace(/^\S.*/gm, (text) => commander.createHelp().boxWrap(text, width));
  commander.description(about).addHelpText("after", wrapped);
  defineOption(commander, "config", CONFIG);
  if ("commands" in declared) {
    for (const [name, load] of Object.entries(declared.commands)) {
      const full = `${title} ${name}`;
      const below = commander.command(name).summary(wordsOf(full).does);
      if (words?.includes(name) !== false) await define(below, full, await load(), io, words);
    }
    return;
  }
  for (const [name, option] of Object.entries(declared.options ?? {})) defineOption(commander, name, option);
  for (const [name, help] of declared.args ?? []) commander.argument(name, help);
  if (declared.usage !== undefined) commander.usage(declared.usage);
  if (declared.passesOn) commander.passThroughOptions();
  commander.action(() => {
    const { args } = commander;
    if (declared.passesOn && args[1] === "--help") return commander.outputHelp();
    return declared.run({ args, options: commander.opts(), config: configOf(commander) }, io);
  });
}

function defineOption(commander: CommanderCommand, name: string, its: Option<unknown>): void {
  const short = its.short === undefined ? "" : `-${its.short}, `;
  const value = its.value === undefined ? "" : ` ${its.value}`;
  const option = new CommanderOption(`${short}--${name}${value}`, its.help)
    .default(its.default)
    .hideHelp(its.isHidden === true)
    .makeOptionMandatory(its.isRequired === true);
  if (its.read !== undefined) option.argParser(its.read);
  if (its.choices !== undefined) option.choices(its.choices.map(String));
  // Keep the declared name: commander would take `--no-x` for the negation of `--x`.
  commander.addOption(Object.assign(option, { attributeName: () => name, negate: false }));
  if (its.value === undefined) commander.setOptionValue(name, false);
}

/** Returns the file of `--config`. After the subcommand it takes precedence over one before it. */
function configOf(commander: CommanderCommand | null): string | undefined {
  return commander === null ? undefined : (commander.getOptionValue("config") ?? configOf(commander.parent));
}

/** Returns a command's texts in `help.txt`: its line in the list, the head of its help, and the text after its options. */
function wordsOf(title: string): { readonly does: string; readonly about: string; readonly more: string } {
  const parts = texts.split(/^\[([a-z ]+)\]\n/m);
  const text = parts[parts.indexOf(title) + 1] ?? "";
  const [, does = "", about = does, more = ""] = /^(.*)\n(?:(.+)\n)?([\s\S]*?)\n*$/.exec(text) ?? [];
  return { does, about, more };
}
