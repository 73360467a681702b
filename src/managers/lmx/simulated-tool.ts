import type { FeatureReading } from "../../domain/reading.ts";
import { checkoutReading, daemonUp, memberReading, toolError } from "../reading-parts.ts";
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
    const silent = memberReading(host, port, "down");
    const asked = whole.members.find((member) => nameOf(member) === nameOf({ host, port })) ?? silent;
    const said = { ...whole, members: asked === silent && whole.errors.length > 0 ? [] : [asked] };
    return {
      stdout: renderLmx(said, { address, zone }),
      stderr: "",
      exitCode: asked.status === "up" ? 0 : 1,
    };
  },
};

/** lmxendutil prints no handles, but the IP address of a holder's host. */
function reading(server: SimulatedServer): ReadingParts {
  const { version, silent } = server;
  const error = silent ? toolError("XF Error: Unable to connect to license server!", "unreachable") : null;
  const members = server.members.map(({ host, port }) =>
    memberReading(host, port, silent ? "down" : "up", silent ? null : version, error),
  );
  const daemons = silent ? [] : server.daemons.map(({ name }) => daemonUp(name, null));
  const features = silent ? [] : featuresByDaemon(server, featureOf);
  return { reportTime: null, toolVersion: version, members, daemons, features };
}

function featureOf({ zone }: SimulatedServer, feature: SimulatedFeature): FeatureReading {
  const { unit, pools, checkouts } = feature;
  return featureReading(feature, {
    used: seatsOf(checkouts),
    pools: pools.map((pool, at) => ({
      ...poolBase(pool, seatsOf(checkouts, at)),
      ...(unit === "tokens" && { kind: "token" as const }),
    })),
    checkouts: checkouts
      .toSorted((a, b) => asPrinted(zone, a.startedAt) - asPrinted(zone, b.startedAt))
      .map(({ user, host, ipAddress: display, count, startedAt, pool }) =>
        checkoutReading({ user, host, display, count, startedAt: asPrinted(zone, startedAt), pool }),
      ),
  });
}
