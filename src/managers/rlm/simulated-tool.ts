import type { FeatureReading } from "../../domain/reading.ts";
import { type Dialect, dialectTool } from "../dialect-tool.ts";
import {
  asPrinted,
  clientBase,
  featureBase,
  featuresByDaemon,
  memberUp,
  poolBase,
  type ReadingParts,
  type SimulatedFeature,
  type SimulatedServer,
  seatsOf,
  unreachable,
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

/** rlmstat prints the server's clock with seconds, and counters since the server's start. */
function reading(server: SimulatedServer): ReadingParts {
  const { version, instant, silent } = server;
  const head = { reportTime: Math.floor(instant / 1000) * 1000, toolVersion: version };
  const error = unreachable("Cannot connect to license server (-17)");
  if (silent) return { ...head, members: [], daemons: [], features: [], errors: [error] };
  return {
    ...head,
    members: server.members.map((member) => memberUp(member, version)),
    daemons: server.daemons.map(({ name, version: own }, index) => ({
      name,
      status: "up" as const,
      version: own,
      error: null,
      totals: { ...server.totals(name), removals: 0 },
      port: FIRST_ISV_PORT + index,
    })),
    features: featuresByDaemon(server, featureOf),
  };
}

function featureOf({ zone }: SimulatedServer, feature: SimulatedFeature): FeatureReading {
  const { pools, checkouts, reserved } = feature;
  const base = featureBase(feature);
  return {
    ...base,
    used: seatsOf(checkouts),
    reserved: base.unlimited ? null : (reserved?.seats ?? 0),
    pools: pools.map((pool, at) => ({
      ...poolBase(pool, seatsOf(checkouts, at)),
      // rlmstat numbers the pools of a product only if there are several.
      number: pools.length > 1 ? String(at + 1) : null,
      // rlmstat does not show whether counted seats float.
      kind: pool.seats === null ? "uncounted" : "unknown",
      vendorString: null,
    })),
    checkouts: checkouts
      .map((one) => {
        const client = clientBase(feature, one, one.pool);
        return {
          ...client,
          display: null,
          handle: one.handle.toString(16),
          pid: null,
          startedAt: asPrinted(zone, one.startedAt),
          lingerSeconds: null,
          borrowed: false,
          // Usage lines name the version but not the pool, so two pools of one version are ambiguous.
          pool: pools.filter(({ version }) => version === client.version).length === 1 ? one.pool : null,
        };
      })
      .sort((a, b) => a.startedAt - b.startedAt),
    reservations: [],
    queue: [],
  };
}
