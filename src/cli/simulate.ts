import { hostZone, isZone } from "../domain/time/zone.ts";
import type { ManagerName } from "../domain/words.ts";
import type { Manager } from "../managers/manager.ts";
import { MANAGERS, managerOf } from "../managers/registry.ts";
import type { ToolAnswer } from "../managers/simulated-tool.ts";
import { SERVERS } from "../simulator/servers.ts";
import { createSite } from "../simulator/site.ts";
import { command } from "./command.ts";
import { UsageError, wholeStdin } from "./io.ts";

export const SIMULATED: readonly ManagerName[] = MANAGERS.filter(
  (name) => managerOf(name).simulatedTool !== null,
);

/** Options of this command. Each takes a value. */
const OWN = ["--server", "--seed", "--timezone", "--ahead"];

/**
 * Runs `[--server ID] [--seed N] [--timezone ZONE] [--ahead MS] TOOL-ARGUMENTS…`. Throws UsageError.
 */
export function runTool(manager: Manager, args: readonly string[], stdin: string, now: number): ToolAnswer {
  const { own, rest } = takeOwn(args);
  const wrong = (name: string, expected: string) =>
    new UsageError(`invalid ${name} "${own.get(name)}"; expected ${expected}`);
  const integer = (name: string, fallback: number, form: RegExp): number => {
    const text = own.get(name) ?? String(fallback);
    if (!form.test(text)) throw wrong(name, "an integer from 0 to 999999999");
    return Number(text);
  };
  const zone = own.get("--timezone") ?? hostZone();
  if (!isZone(zone)) throw wrong("--timezone", "an IANA name, e.g. Europe/Berlin");
  const seed = integer("--seed", 1, /^\d{1,9}$/);
  const ahead = integer("--ahead", 0, /^-?\d{1,9}$/);
  const { simulatedTool } = manager;
  if (simulatedTool === null)
    throw new UsageError(`${manager.title} cannot be simulated; supported are ${SIMULATED.join(", ")}`);
  const servers = SERVERS.filter((server) => server.manager === manager.name);
  const id = own.get("--server") ?? servers[0]?.id;
  const server = servers.find((one) => one.id === id);
  if (server === undefined) {
    const names = servers.map((one) => one.id).join(", ");
    throw new UsageError(`unknown simulated ${manager.title} server "${id}"; known are ${names}`);
  }
  const site = createSite({ seed, zone, ahead });
  const { address, version, members } = server;
  return simulatedTool.answer(rest, stdin, {
    address,
    version,
    zone,
    members,
    reading: (named) =>
      site.reading(
        server,
        now,
        members.map((one, index) => ({ ...one, ...named[index] })),
      ),
  });
}

function takeOwn(args: readonly string[]): { own: Map<string, string>; rest: readonly string[] } {
  const own = new Map<string, string>();
  let index = 0;
  while (index < args.length) {
    const [, name = "", attached] = /^([^=]+)(?:=(.*))?$/.exec(args[index] ?? "") ?? [];
    if (!OWN.includes(name)) break;
    const value = attached ?? args[index + 1];
    if (value === undefined || value === "") throw new UsageError(`${name} needs a value`);
    own.set(name, value);
    index += attached === undefined ? 2 : 1;
  }
  return { own, rest: args.slice(index) };
}

export const simulate = command({
  args: [
    ["<manager>", `license manager: ${SIMULATED.join(", ")}`],
    ["[arguments...]", "options below, then the tool's own arguments"],
  ],
  usage: "<manager> [--server ID] [--seed N] [--timezone ZONE] <tool arguments>",
  passesOn: true,
  async run({ args: [name = "", ...args] }, io) {
    if (!MANAGERS.includes(name))
      throw new UsageError(`unknown manager "${name}"; can simulate ${SIMULATED.join(", ")}`);
    const manager = managerOf(name);
    // Do not wait for the end of stdin if the tool does not read stdin.
    const isTold = manager.simulatedTool?.readsStdin?.(args) === true;
    const stdin = isTold ? new TextDecoder().decode(await wholeStdin(io)) : "";
    const { stdout, stderr, exitCode } = runTool(manager, args, stdin, io.now());
    if (stdout !== "") io.out(stdout);
    if (stderr !== "") io.err(stderr);
    io.exitCode(exitCode);
  },
});
