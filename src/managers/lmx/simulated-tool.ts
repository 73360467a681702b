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
import { renderLmx } from "./render.ts";
import { DEFAULT_PORT, nameOf } from "./step-name.ts";

const USAGE = "usage: lmxendutil -licstat -host <host> [-port <port>]\n";

/** `lmxendutil -licstat` ("LM-X End-user utility"), which queries one server. */
export const simulatedLmxendutil: SimulatedTool = {
  reading,
  answer(args, _stdin, { members, address, zone, reading }) {
    const [command, ...options] = args[0] === "lmxendutil" ? args.slice(1) : args;
    const optionOf = (name: string) => {
      const at = options.indexOf(name);
      return at === -1 ? undefined : options[at + 1];
    };
    const host = optionOf("-host");
    const port = Number(optionOf("-port") ?? DEFAULT_PORT);
    if (command !== "-licstat" || host === undefined || !Number.isInteger(port))
      return { stdout: "", stderr: USAGE, exitCode: 1 };

    // A single server answers to any name.
    const isOne = members.length === 1;
    const whole = reading(isOne ? [{ host, port }] : members);
    const silent = { host, port, status: "down", master: false, version: null, error: null } as const;
    const asked = whole.members.find((member) => nameOf(member) === nameOf({ host, port })) ?? silent;
    const said = { ...whole, members: asked === silent && whole.errors.length > 0 ? [] : [asked] };
    return {
      stdout: renderLmx(said, { address, zone }),
      stderr: "",
      exitCode: asked.status === "up" ? 0 : 1,
    };
  },
};

/** lmxendutil prints no handles, and the IP address of a holder's host. */
function reading(server: SimulatedServer): ReadingParts {
  const { version, members, silent } = server;
  const head = { reportTime: null, toolVersion: version };
  const error = unreachable("XF Error: Unable to connect to license server!");
  if (silent)
    return { ...head, members: members.map((each) => memberDown(each, error)), daemons: [], features: [] };
  return {
    ...head,
    members: members.map((member) => memberUp(member, version)),
    daemons: server.daemons.map(({ name }) => {
      return { name, status: "up" as const, version: null, error: null, totals: null };
    }),
    features: featuresByDaemon(server, featureOf),
  };
}

function featureOf({ zone }: SimulatedServer, feature: SimulatedFeature): FeatureReading {
  const { unit, pools, checkouts } = feature;
  return {
    ...featureBase(feature),
    used: seatsOf(checkouts),
    pools: pools.map((pool, at) => ({
      ...poolBase(pool, seatsOf(checkouts, at)),
      ...(unit === "tokens" && { kind: "token" as const }),
    })),
    checkouts: checkouts
      .map(({ user, host, ipAddress, count, startedAt, pool }) => ({
        user,
        host,
        display: ipAddress,
        qualifier: null,
        version: null,
        count,
        handle: null,
        pid: null,
        startedAt: asPrinted(zone, startedAt),
        lingerSeconds: null,
        borrowed: false,
        pool,
      }))
      .sort((a, b) => a.startedAt - b.startedAt),
    reservations: [],
    queue: [],
  };
}
