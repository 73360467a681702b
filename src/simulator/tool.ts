import { hostZone, isZone } from "../domain/time/zone.ts";
import type { ManagerName } from "../domain/words.ts";
import type { FakeAnswer, FakeTool, Manager } from "../managers/manager.ts";
import { MANAGERS, managerOf } from "../managers/registry.ts";
import { fakeLstcQrun } from "./lstc-qrun.ts";
import { SERVERS } from "./servers.ts";
import { createSite } from "./site.ts";

/** A mistake in the simulator's own options, before the tool is asked. */
export class SimulateUsageError extends Error {
  override readonly name = "SimulateUsageError";
}

/** A manager that is a profile plays no tool itself. */
const TOOLS_OF_PROFILES: Readonly<Record<ManagerName, FakeTool>> = { lsdyna: fakeLstcQrun };

/** Returns the tool that plays a manager's; null if the manager is not simulated. */
function fakeToolOf(manager: Manager): FakeTool | null {
  return manager.fake ?? TOOLS_OF_PROFILES[manager.name] ?? null;
}

/** Managers whose tool can be simulated. */
export const SIMULATED: readonly ManagerName[] = MANAGERS.filter(
  (name) => fakeToolOf(managerOf(name)) !== null,
);

/** The simulator's own options, each with a value. */
const OWN = ["--server", "--seed", "--timezone", "--ahead"];

/**
 * `[--server ID] [--seed N] [--timezone ZONE] [--ahead MS] TOOL-ARGUMENTS…`: the simulator's own options
 * come first, all else is the tool's. `now` is epoch ms.
 * @throws SimulateUsageError
 */
export function simulate(manager: Manager, args: readonly string[], stdin: string, now: number): FakeAnswer {
  const { own, rest } = takeOwn(args);
  const wrong = (name: string, expected: string) =>
    new SimulateUsageError(`${name} is "${own.get(name)}"; expected ${expected}`);
  const integer = (name: string, fallback: number, form: RegExp): number => {
    const text = own.get(name) ?? String(fallback);
    if (!form.test(text)) throw wrong(name, "an integer from 0 to 999999999");
    return Number(text);
  };
  const zone = own.get("--timezone") ?? hostZone();
  if (!isZone(zone)) throw wrong("--timezone", "an IANA name, e.g. Europe/Berlin");
  const seed = integer("--seed", 1, /^\d{1,9}$/);
  const ahead = integer("--ahead", 0, /^-?\d{1,9}$/);
  const fake = fakeToolOf(manager);
  if (fake === null)
    throw new SimulateUsageError(`${manager.title} is not simulated; can simulate ${SIMULATED.join(", ")}`);
  const servers = SERVERS.filter((server) => server.manager === manager.name);
  const id = own.get("--server") ?? servers[0]?.id;
  const server = servers.find((one) => one.id === id);
  if (server === undefined) {
    const names = servers.map((one) => one.id).join(", ");
    throw new SimulateUsageError(`there is no simulated ${manager.title} server "${id}"; there are ${names}`);
  }
  const site = createSite({ seed, zone, ahead });
  const { address, version, members } = server;
  return fake.answer(rest, stdin, {
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
    if (value === undefined || value === "") throw new SimulateUsageError(`${name} needs a value`);
    own.set(name, value);
    index += attached === undefined ? 2 : 1;
  }
  return { own, rest: args.slice(index) };
}
