import { shippedText } from "../managers/profiles/shipped.ts";
import { builtInManager, managerNames, managerOf } from "../managers/registry.ts";
import { command } from "./command.ts";
import { readConfig, UsageError } from "./io.ts";
import { printTable } from "./terminal.ts";

/** `licmond managers`: the license managers that a server may have, and the profiles that come along. */
export const managers = command({
  args: [
    ["[show]", "print the profile of one"],
    ["[manager]", "which one"],
  ],
  usage: "[options] [show <manager>]",
  async run({ args: [verb, name], config: file }, io) {
    if (verb !== undefined && (verb !== "show" || name === undefined))
      throw new UsageError("it takes nothing, or show and the name of a manager");
    if (name !== undefined) {
      const text = shippedText(name);
      if (text === undefined) throw new UsageError(`${whyNone(name)}; \`licmond managers\` lists all`);
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
    ? `no profile "${name}" comes with licmond`
    : `${name} is read by code, not by a profile`;
}
