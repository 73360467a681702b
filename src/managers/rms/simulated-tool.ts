import type { FeatureReading } from "../../domain/reading.ts";
import {
  asPrinted,
  featureBase,
  featuresByDaemon,
  memberDown,
  memberUp,
  poolBase,
  type ReadingParts,
  type SimulatedFeature,
  type SimulatedServer,
  type SimulatedTool,
  seatsOf,
  unreachable,
} from "../simulated-tool.ts";
import { renderRms } from "./render.ts";

const USAGE = "Use lsmon <hostname> or set the LSHOST environment variable.\n";

/**
 * `lsmon HOST` of Sentinel RMS 9.x on Windows ("System Administrator Guide", lsmon). Intervals are not supported.
 */
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

/** lsmon prints clients and queued clients, one version per feature, and neither daemons nor handles. */
function reading(server: SimulatedServer): ReadingParts {
  const { version, members, silent } = server;
  const error = silent ? unreachable("Server name not set, or monitor cannot talk to the server.") : null;
  return {
    reportTime: null,
    toolVersion: version,
    members: members.map((member) => {
      return { ...(silent ? memberDown(member, error) : memberUp(member, null)), port: null };
    }),
    daemons: [],
    features: silent ? [] : featuresByDaemon(server, featureOf),
    errors: error === null ? [] : [error],
  };
}

function featureOf({ zone }: SimulatedServer, feature: SimulatedFeature): FeatureReading {
  const unprinted = { display: null, qualifier: null, version: null, handle: null, pool: 0 };
  const used = seatsOf(feature.checkouts);
  return {
    ...featureBase(feature),
    used,
    pools: feature.pools.map((pool) => poolBase(pool, used)),
    checkouts: feature.checkouts
      .toSorted((a, b) => a.startedAt - b.startedAt)
      .map(({ user, host, count, startedAt }) => ({
        ...unprinted,
        user,
        host,
        count,
        pid: null,
        startedAt: asPrinted(zone, startedAt),
        lingerSeconds: null,
        borrowed: false,
      })),
    reservations: [],
    queue: feature.queue.map(({ user, host, count }) => ({ ...unprinted, user, host, count })),
    reserved: 0,
  };
}
