import type { FeatureReading, Reading } from "../../domain/reading.ts";
import { checkoutReading, memberReading, sumOfCounts, toolError } from "../reading-parts.ts";
import {
  featureReading,
  featuresByDaemon,
  poolBase,
  type ReadingParts,
  type SimulatedFeature,
  type SimulatedServer,
  type SimulatedTool,
  seatsOf,
} from "../simulated-tool.ts";

const USAGE = "usage: lstc_qrun -s port@host -R\n";
const HEAD = `LICENSE INFORMATION

PROGRAM          EXPIRATION CPUS  USED   FREE    MAX | QUEUE
---------------- ----------      ----- ------ ------ | -----
`;

/** `lstc_qrun -R` of LS-DYNA, the only simulated tool of a profile. */
export const simulatedLstcQrun: SimulatedTool = {
  reading,
  answer(args, _stdin, server) {
    const [, port, host] = /^(?:(\d{1,5})@)?([^@\s]+)$/.exec(args[args.indexOf("-s") + 1] ?? "") ?? [];
    if (!args.includes("-s") || !args.includes("-R") || host === undefined)
      return { stdout: "", stderr: USAGE, exitCode: 1 };
    const [member] = server.members;
    const asked = { host, port: Number(port ?? member?.port) };
    const answer = server.reading([asked]);
    const begin = `Using user specified server ${asked.port}@${asked.host}\n`;
    if (answer.errors.length > 0)
      return { stdout: `${begin}*** ERROR failed to open server ${host}\n`, stderr: "", exitCode: 1 };
    return { stdout: `${begin}\n${HEAD}${table(answer)}`, stderr: "", exitCode: 0 };
  },
};

function table({ features }: Reading): string {
  const used = features.reduce((sum, feature) => sum + (feature.used ?? 0), 0);
  const total = features[0]?.total ?? 0;
  const counts = (inUse: string, waiting: FeatureReading["queue"]) =>
    `${inUse.padStart(6)} ${String(total - used).padStart(6)} ${String(total).padStart(6)} | ${String(sumOfCounts(waiting)).padStart(5)}`;
  const programs = features.flatMap((feature) => [
    `${feature.name.padEnd(16)} ${printDate(feature)}      ${counts(feature.checkouts.length > 0 ? "-" : "0", feature.queue)}`,
    ...feature.checkouts.map(
      ({ user, host, pid, count }) =>
        ` ${(user ?? "").padEnd(10)} ${String(pid ?? 0).padStart(7)}@${host} ${String(count).padStart(3)}`,
    ),
  ]);
  const waiting = features.flatMap(({ queue }) => queue);
  return `${[...programs, `                   LICENSE GROUP ${counts(String(used), waiting)}`].join("\n")}\n`;
}

function printDate({ pools }: FeatureReading): string {
  const [year, month, day] = pools[0]?.expiry.expiresOn?.split("-") ?? [];
  return `${month}/${day}/${year}`;
}

/** lstc_qrun prints neither times nor handles. */
function reading(server: SimulatedServer): ReadingParts {
  const { silent } = server;
  const members = server.members.map(({ host, port }) => {
    const error = silent ? toolError(`failed to open server ${host}`, "unreachable") : null;
    return memberReading(host, port, silent ? "down" : "up", null, error);
  });
  return {
    reportTime: null,
    toolVersion: null,
    members,
    daemons: [],
    features: silent ? [] : featuresByDaemon(server, featureOf),
    errors: members.flatMap(({ error }) => error ?? []),
  };
}

function featureOf(_: SimulatedServer, feature: SimulatedFeature): FeatureReading {
  const used = seatsOf(feature.checkouts);
  const unknown = { user: null, host: null, display: null, qualifier: null, version: null, handle: null };
  const wanted = sumOfCounts(feature.queue);
  return featureReading(feature, {
    ...(feature.seatGroup !== null && { seatGroup: feature.seatGroup }),
    used,
    pools: feature.pools.map((pool) => ({ ...poolBase(pool, used), version: null, kind: "unknown" })),
    checkouts: feature.checkouts
      .toSorted((a, b) => a.startedAt - b.startedAt)
      .map(({ user, host, count, pid }) => checkoutReading({ user, host, count, pid, pool: 0 })),
    queue: wanted === 0 ? [] : [{ ...unknown, count: wanted, pool: 0 }],
  });
}
