import { shippedText } from "../managers/profiles/shipped.ts";
import { builtInManager, managerNames, managerOf } from "../managers/registry.ts";
import { command } from "./command.ts";
import { readConfig, UsageError } from "./io.ts";
import { printTable } from "./terminal.ts";

export const managers = command({
  args: [
    ["[show]", "print the profile of a manager"],
    ["[manager]", "name of the manager"],
  ],
  usage: "[options] [show <manager>]",
  async run({ args: [verb, name], config: file }, io) {
    if (verb !== undefined && (verb !== "show" || name === undefined))
      throw new UsageError("expected no arguments, or: show <manager>");
    if (name !== undefined) {
      const text = shippedText(name);
      if (text === undefined) throw new UsageError(`${whyNone(name)}; see \`licmond managers\``);
      return io.out(text);
    }
    const { config } = await readConfig(file, io);
    const rows = managerNames(config.managers).map((each) => {
      const { title, experimental = false } = managerOf(each, config.managers);
      const isOwn = config.managers.some((own) => own.name === each);
      const kind = isOwn ? "config" : builtInManager(each) === null ? "profile" : "code";
      return [each, title, kind, experimental ? "experimental" : isOwn ? "" : "seen"];
    });
    io.out(printTable(["name", "title", "kind", "outputs"], rows, io.terminal.columns));
  },
});

function whyNone(name: string): string {
  return builtInManager(name) === null
    ? `unknown profile "${name}"`
    : `${name} is built in and has no profile`;
}
