import type { FeatureReading } from "../../domain/reading.ts";
import { checkoutReading, memberReading, toolError } from "../reading-parts.ts";
import {
  asPrinted,
  featureReading,
  featuresByDaemon,
  poolBase,
  type ReadingParts,
  type SimulatedFeature,
  type SimulatedServer,
  type SimulatedTool,
  seatsOf,
} from "../simulated-tool.ts";
import { renderRms } from "./render.ts";

const USAGE = "Use lsmon <hostname> or set the LSHOST environment variable.\n";

/** `lsmon HOST` of Sentinel RMS 9.x on Windows, without intervals. */
export const simulatedLsmon: SimulatedTool = {
  reading,
  answer(args, _stdin, { members, address, zone, reading }) {
    const [host, ...more] = args[0] === "lsmon" ? args.slice(1) : args;
    if (host === undefined || more.length > 0 || host.startsWith("-"))
      return { stdout: "", stderr: USAGE, exitCode: 1 };
    // The server answers to any name.
    const whole = reading(members.map(({ port }) => ({ host, port })));
    const stdout = renderRms(whole, { address: members.length === 0 ? address : host, zone });
    return { stdout, stderr: "", exitCode: whole.errors.length === 0 ? 0 : 1 };
  },
};

function reading(server: SimulatedServer): ReadingParts {
  const { version, silent } = server;
  const message = "Server name not set, or monitor cannot talk to the server.";
  const error = silent ? toolError(message, "unreachable") : null;
  return {
    reportTime: null,
    toolVersion: version,
    members: server.members.map(({ host }) => memberReading(host, null, silent ? "down" : "up", null, error)),
    daemons: [],
    features: silent ? [] : featuresByDaemon(server, featureOf),
    errors: error === null ? [] : [error],
  };
}

function featureOf({ zone }: SimulatedServer, feature: SimulatedFeature): FeatureReading {
  const used = seatsOf(feature.checkouts);
  const unprinted = { display: null, qualifier: null, version: null, handle: null, pool: 0 };
  return featureReading(feature, {
    used,
    pools: feature.pools.map((pool) => poolBase(pool, used)),
    checkouts: feature.checkouts
      .toSorted((a, b) => a.startedAt - b.startedAt)
      .map(({ user, host, count, startedAt }) =>
        checkoutReading({ user, host, count, startedAt: asPrinted(zone, startedAt), pool: 0 }),
      ),
    queue: feature.queue.map(({ user, host, count }) => ({ ...unprinted, user, host, count })),
    reserved: 0,
  });
}
