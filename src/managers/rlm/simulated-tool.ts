import type { FeatureReading } from "../../domain/reading.ts";
import { type Dialect, dialectTool } from "../dialect-tool.ts";
import { checkoutReading, daemonUp, memberReading, toolError } from "../reading-parts.ts";
import {
  asPrinted,
  featureReading,
  featuresByDaemon,
  poolBase,
  type ReadingParts,
  type SimulatedFeature,
  type SimulatedServer,
  seatsOf,
} from "../simulated-tool.ts";
import { FIRST_ISV_PORT, renderRlm } from "./render.ts";

const USAGE = `usage: rlmstat [-a] [-avail] [-c license] [-i [isv]] [-l [isv]] [-n [host]]
               [-p [product]] [-q] [-u [user]] [-v] [-z password]
`;

/** rlmstat of RLM 12–14 ("RLM License Administration Manual", rlmutil). */
export const simulatedRlmstat = (parseAddress: Dialect["parseAddress"]) =>
  dialectTool(
    {
      names: ["rlmutil", "rlmstat"],
      usage: USAGE,
      banner: (version) => `rlmutil ${version}
Copyright (C) 2006-2017, Reprise Software, Inc. All rights reserved.
`,
      exitCode: ({ errors }) => (errors.length === 0 ? 0 : 1),
      daemonOption: "-i",
      featureOption: "-p",
      allOptions: ["-a", "-avail", "-i", "-l", "-p", "-u"],
      parseAddress,
      render: renderRlm,
    },
    reading,
  );

function reading(server: SimulatedServer): ReadingParts {
  const { version, instant, silent } = server;
  const head = { reportTime: Math.floor(instant / 1000) * 1000, toolVersion: version };
  const error = toolError("Cannot connect to license server (-17)", "unreachable");
  if (silent) return { ...head, members: [], daemons: [], features: [], errors: [error] };
  return {
    ...head,
    members: server.members.map(({ host, port }) => memberReading(host, port, "up", version)),
    daemons: server.daemons.map(({ name, version }, index) => ({
      ...daemonUp(name, version),
      totals: { ...server.totals(name), removals: 0 },
      port: FIRST_ISV_PORT + index,
    })),
    features: featuresByDaemon(server, featureOf),
  };
}

function featureOf({ zone }: SimulatedServer, feature: SimulatedFeature): FeatureReading {
  const { pools, checkouts, reserved } = feature;
  const isUncounted = pools.some(({ seats }) => seats === null);
  return featureReading(feature, {
    used: seatsOf(checkouts),
    reserved: isUncounted ? null : (reserved?.seats ?? 0),
    pools: pools.map((pool, at) => ({
      ...poolBase(pool, seatsOf(checkouts, at)),
      // rlmstat numbers the pools of a product only if there are several.
      number: pools.length > 1 ? String(at + 1) : null,
      // rlmstat does not show whether counted seats float.
      kind: pool.seats === null ? "uncounted" : "unknown",
      vendorString: null,
    })),
    checkouts: checkouts
      .map(({ user, host, count, handle, startedAt, pool }) => {
        const version = pools[pool]?.version ?? null;
        return checkoutReading({
          user,
          host,
          version,
          count,
          handle: handle.toString(16),
          startedAt: asPrinted(zone, startedAt),
          // Usage lines name the version but not the pool, so two pools of one version are ambiguous.
          pool: pools.filter((each) => each.version === version).length === 1 ? pool : null,
        });
      })
      .sort((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0)),
  });
}
