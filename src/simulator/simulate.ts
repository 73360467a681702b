import { beginsWithDate, hostZone, isZone } from "../domain/zone.ts";
import type { Manager } from "../managers/manager.ts";
import { scaleReading } from "./scale.ts";
import { SERVERS } from "./servers.ts";
import { createSite } from "./site.ts";
import { member } from "./spec-parts.ts";
import { type AskedServer, runTool, type ToolRun } from "./tool.ts";

export const DEFAULT_SEED = 1;

/** A mistake in the simulator's own options, before the tool is asked. */
export class SimulateUsageError extends Error {
  override readonly name = "SimulateUsageError";
}

/**
 * `[--server ID] [--seed N] [--timezone ZONE] [--at ISO] TOOL-ARGUMENTS…`: the simulator's own options come first,
 * all else is the tool's. With `--checkouts N [--features N] [--bytes N]` the server is one of that size instead.
 * `now` is epoch ms.
 * @throws SimulateUsageError
 */
export function simulate(manager: Manager, args: readonly string[], now: number): ToolRun {
  const { own, rest } = takeOwn(args);
  const zone = own.get("--timezone") ?? hostZone();
  if (!isZone(zone)) {
    throw new SimulateUsageError(`--timezone is "${zone}"; expected an IANA name, e.g. Europe/Berlin`);
  }
  const at = own.get("--at");
  const instant = at === undefined ? now : Date.parse(at);
  if (Number.isNaN(instant) || (at !== undefined && !beginsWithDate(at))) {
    throw new SimulateUsageError(`--at is "${at}"; expected ISO 8601, e.g. 2026-01-31T08:15:00Z`);
  }
  const moment = { manager, zone, instant, seed: integer(own, "--seed") ?? DEFAULT_SEED };
  return runTool(rest, own.has("--checkouts") ? ofSize(moment, own) : ofSite(moment, own.get("--server")));
}

interface Moment {
  readonly manager: Manager;
  readonly zone: string;
  /** Epoch ms. */
  readonly instant: number;
  readonly seed: number;
}

function ofSite({ manager, zone, instant, seed }: Moment, wanted: string | undefined): AskedServer {
  const servers = SERVERS.filter((server) => server.manager === manager.name);
  const id = wanted ?? servers[0]?.id;
  const server = servers.find((one) => one.id === id);
  if (server === undefined) {
    throw new SimulateUsageError(
      `there is no simulated ${manager.title} server "${id}"; there are ${servers.map((one) => one.id).join(", ")}`,
    );
  }
  const site = createSite({ seed, zone });
  const { address, members, version } = server;
  return { manager, zone, address, members, version, reading: (as) => site.reading(server, instant, as) };
}

function ofSize({ manager, zone, instant, seed }: Moment, own: ReadonlyMap<string, string>): AskedServer {
  const checkouts = integer(own, "--checkouts") ?? 0;
  const features = Math.max(1, integer(own, "--features") ?? 50);
  const bytes = integer(own, "--bytes");
  const members = [member("lic-scale", 27000)];
  return {
    manager,
    zone,
    address: "27000@lic-scale",
    members,
    version: "v14.2",
    reading([first]) {
      const address = `${first?.port ?? 27000}@${first?.host ?? "lic-scale"}`;
      const size = { features, checkouts, instant, zone, seed, address };
      try {
        return scaleReading(manager, bytes === null ? size : { ...size, bytes });
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        throw new SimulateUsageError(`--bytes is too small: ${error.message}`);
      }
    },
  };
}

function integer(own: ReadonlyMap<string, string>, name: string): number | null {
  const text = own.get(name);
  if (text === undefined) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new SimulateUsageError(`${name} is "${text}"; expected an integer from 0 to 999999999`);
}

const OWN = ["--server", "--seed", "--timezone", "--at", "--checkouts", "--features", "--bytes"];

function takeOwn(args: readonly string[]): { own: Map<string, string>; rest: readonly string[] } {
  const own = new Map<string, string>();
  let index = 0;
  while (index < args.length) {
    const word = args[index] ?? "";
    const equals = word.indexOf("=");
    const name = equals === -1 ? word : word.slice(0, equals);
    if (!OWN.includes(name)) break;
    const value = equals === -1 ? args[index + 1] : word.slice(equals + 1);
    if (value === undefined || value === "") throw new SimulateUsageError(`${name} needs a value`);
    own.set(name, value);
    index += equals === -1 ? 2 : 1;
  }
  return { own, rest: args.slice(index) };
}
