import type { CheckoutReading, FeatureReading } from "../../domain/reading.ts";
import { checkoutReading, memberReading, toolError } from "../reading-parts.ts";
import {
  featureReading,
  featuresByDaemon,
  poolBase,
  type ReadingParts,
  type SimulatedCheckout,
  type SimulatedFeature,
  type SimulatedServer,
  type SimulatedTool,
  seatsOf,
  type ToolAnswer,
  type ToolTarget,
} from "../simulated-tool.ts";
import { render } from "./render.ts";

const USAGE = `Usage: DSLicSrv -admin [-run "command; command; ..."]
`;

/** DSLicSrv with the commands that licmond uses, after `-run` or on stdin. */
export const simulatedDslicsrv: SimulatedTool = {
  reading,
  readsStdin: (args) => !args.some((arg) => arg === "-run" || arg === "-r"),
  answer(args, stdin, server) {
    const [mode, run, given] = args;
    const isRun = run === "-run" || run === "-r";
    if (mode !== "-admin" || (run !== undefined && (!isRun || given === undefined)))
      return { stdout: "", stderr: USAGE, exitCode: 1 };
    const commands = (isRun ? (given ?? "").split(";") : stdin.split("\n")).map((command) => command.trim());
    const [connect = "", ...others] = commands.filter((command) => command !== "");
    const [, host, port] = /^(?:c|connect) (\S+) (\d{1,5})(?: -restricted)?$/.exec(connect) ?? [];
    if (host === undefined || port === undefined)
      return { stdout: `${banner(server)}Invalid command: ${connect}\n`, stderr: "", exitCode: 1 };
    const wantsUsage = others.some((command) => command === "getLicenseUsage -csv");
    return answerOf(server, host, Number(port), isRun, wantsUsage);
  },
};

function banner({ version }: ToolTarget): string {
  return `License Administration Tool Version ${version} Built on May 2, 2023, 6:45:36 PM.\n`;
}

function answerOf(
  server: ToolTarget,
  host: string,
  port: number,
  isRun: boolean,
  wantsUsage: boolean,
): ToolAnswer {
  // A single server answers to any name; members of a cluster only to their own.
  const index = server.members.length === 1 ? 0 : server.members.findIndex((one) => one.host === host);
  const named = server.members.map((one, at) => (at === index ? { ...one, host, port } : one));
  const whole = server.reading(named);
  const member = whole.members[index];
  if (member === undefined || member.status !== "up") {
    const stdout = `${banner(server)}Cannot connect to server ${host} on port ${port}\n`;
    return { stdout, stderr: "", exitCode: 1 };
  }
  const options = { address: `${port}@${host}`, zone: server.zone };
  const text = render({ ...whole, members: [member], toolVersion: server.version }, options);
  const end = wantsUsage ? text.length : text.indexOf("admin >getLicenseUsage");
  const printed = text.slice(0, end);
  // Commands from stdin are not echoed, so the prompt directly precedes the answer.
  const stdout = isRun ? printed : printed.replace(/^(admin >)(?:connect|getLicenseUsage|quit).*\n/gm, "$1");
  return { stdout, stderr: "", exitCode: 0 };
}

const CUSTOMER = "40011";

/** DSLicSrv prints times to the second, and neither a report time nor daemons. */
function reading(server: SimulatedServer): ReadingParts {
  const { version, silent } = server;
  const members = server.members.map(({ host, port, down }) => {
    if (!down && !silent) return memberReading(host, port, "up", version);
    const error = toolError(`Cannot connect to server ${host} on port ${port}`, "unreachable");
    return memberReading(host, port, "down", null, error);
  });
  return {
    reportTime: null,
    toolVersion: version,
    daemons: [],
    members,
    errors: silent ? members.flatMap(({ error }) => error ?? []) : [],
    features: silent ? [] : featuresByDaemon(server, featureOf),
  };
}

function featureOf(_: SimulatedServer, feature: SimulatedFeature): FeatureReading {
  const inOrder = feature.checkouts.toSorted((a, b) => a.pool - b.pool || a.startedAt - b.startedAt);
  const named = feature.assigned?.map((person) => ({
    ...person,
    // A person with two sessions, one of them left open overnight, uses a single license.
    checkout: inOrder.find(({ user }) => user === person.user),
  }));
  const held = named?.flatMap(({ checkout }) => checkout ?? []) ?? inOrder;
  return featureReading(feature, {
    used: seatsOf(held),
    pools: feature.pools.map((pool, at) => ({
      ...poolBase(pool, seatsOf(held, at)),
      vendorString: `${modelOf(feature)},STD,YLC,${CUSTOMER}`,
      ...(named !== undefined && { kind: "unknown" as const }),
    })),
    checkouts: held.map((one) => checkoutOf(feature, one)),
    ...(named !== undefined && {
      assigned: named.map(({ user, host, since, checkout }) => {
        return { user, host: checkout?.host ?? host, since };
      }),
    }),
  });
}

function modelOf({ unit, assigned }: SimulatedFeature): string {
  if (unit !== "seats") return unit === "tokens" ? "Token" : "Credit";
  return assigned === null ? "ConcurrentUser" : "NamedUser";
}

function checkoutOf({ name }: SimulatedFeature, one: SimulatedCheckout): CheckoutReading {
  const { user, host, count, handle, pid, startedAt, pool } = one;
  return checkoutReading({
    user,
    host,
    qualifier: one.isWindows ? `C:\\Program Files\\Orbiform\\${name}.exe` : `/opt/orbiform/bin/${name}`,
    version: "6.426",
    count,
    handle: handle.toString(16).toUpperCase().padStart(7, "0"),
    pid,
    startedAt: Math.floor(startedAt / 1000) * 1000,
    pool,
  });
}
