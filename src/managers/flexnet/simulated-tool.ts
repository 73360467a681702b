import type { FeatureReading, ToolError } from "../../domain/reading.ts";
import { type Dialect, dialectTool } from "../dialect-tool.ts";
import { checkoutReading, daemonUp, memberReading } from "../reading-parts.ts";
import {
  asPrinted,
  featureReading,
  featuresByDaemon,
  poolBase,
  type ReadingParts,
  type SimulatedClient,
  type SimulatedFeature,
  type SimulatedServer,
  seatsOf,
} from "../simulated-tool.ts";
import { render } from "./render.ts";

const USAGE = `usage: lmstat [-a] [-A] [-c license_file_list] [-f [feature]] [-i [feature]]
              [-s [server]] [-S [vendor]] [-t timeout_value] [-v]
`;
const BANNER = `lmutil - Copyright (c) 1989-2023 Flexera. All Rights Reserved.
lmstat v11.19.5.0 build 291047 x64_lsb
`;

/** lmstat of FlexNet Publisher 11.x ("License Administration Guide", lmstat). */
export const simulatedLmstat = (parseAddress: Dialect["parseAddress"]) =>
  dialectTool(
    {
      names: ["lmutil", "lmstat"],
      usage: USAGE,
      banner: () => BANNER,
      // lmutil exits with the lowest byte of its error number.
      exitCode: ({ errors: [error] }) => (error === undefined ? 0 : (256 + (error.major ?? -1)) & 0xff),
      daemonOption: "-S",
      featureOption: "-f",
      allOptions: ["-a", "-f", "-i", "-S"],
      parseAddress,
      render,
    },
    reading,
  );

const MEMBER_DOWN: ToolError = {
  message: 'Cannot connect to license server system. (-15,570:115 "Operation now in progress")',
  major: -15,
  minor: 570,
  system: 115,
  kind: "unreachable",
};

const REFUSED: ToolError = {
  ...MEMBER_DOWN,
  message:
    'Error getting status: Cannot connect to license server system. (-15,570:111 "Connection refused")',
  system: 111,
};

function reading(server: SimulatedServer): ReadingParts {
  const head = { reportTime: asPrinted(server.zone, server.instant), toolVersion: null };
  if (server.silent) return { ...head, members: [], daemons: [], features: [], errors: [REFUSED] };
  return {
    ...head,
    members: server.members.map(({ host, port, master, down }) =>
      down
        ? memberReading(host, port, "down", null, MEMBER_DOWN)
        : { ...memberReading(host, port, "up", server.version), master },
    ),
    daemons: server.daemons.map(({ name, version }) => daemonUp(name, version)),
    features: featuresByDaemon(server, featureOf),
  };
}

function featureOf(
  { zone, instant, printsPids }: SimulatedServer,
  feature: SimulatedFeature,
): FeatureReading {
  const { pools, checkouts, queue, reserved } = feature;
  const idle = reserved?.idle ?? 0;
  const client = ({ user, host, display, count, handle }: SimulatedClient, pool: number) => {
    const version = pools[pool]?.version ?? null;
    return { user, host, display, qualifier: null, version, count, handle: String(handle), pool };
  };
  const counted = (used: number) => (pools.some(({ seats }) => seats === null) ? null : used);
  return featureReading(feature, {
    used: counted(seatsOf(checkouts) + idle),
    // Idle reservations are listed under the first pool.
    pools: pools.map((pool, at) => poolBase(pool, counted(seatsOf(checkouts, at) + (at === 0 ? idle : 0)))),
    checkouts: checkouts
      .toSorted((a, b) => a.pool - b.pool || asPrinted(zone, a.startedAt) - asPrinted(zone, b.startedAt))
      .map((one) =>
        checkoutReading({
          ...client(one, one.pool),
          pid: printsPids ? one.pid : null,
          startedAt: asPrinted(zone, one.startedAt),
          lingerSeconds: one.borrowed ? Math.ceil((one.endsAt - instant) / 1000) : null,
          borrowed: one.borrowed,
        }),
      ),
    reservations:
      reserved !== null && idle > 0
        ? [{ type: reserved.type, name: reserved.name, count: idle, pool: 0 }]
        : [],
    queue: queue.map((one) => client(one, 0)),
  });
}
