import type { CheckoutReading, FeatureReading, PoolReading, Reading } from "../../domain/reading.ts";
import { HOUR_MS } from "../../domain/time/clock.ts";
import { dateTime } from "../../domain/time/zone.ts";
import { majorityOfThree, parseGroup } from "../addresses.ts";
import type { AddressProblem, Manager, ParsedAddress, RenderOptions, Step } from "../manager.ts";
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
import { UNLIMITED } from "./lines.ts";
import { createLmxParser } from "./parser.ts";
import { DEFAULT_PORT, nameOf, stepName } from "./step-name.ts";

const RULE = "-".repeat(40);
/**
 * Duration of borrowed licenses in rendered output. The value is arbitrary, because readings do not keep
 * the end.
 */
const BORROW_HOURS = 24;

/**
 * Prints what lmxendutil prints for this reading; parsing it returns the reading. The format cannot express report
 * times, seconds, starts that are unknown or in a repeated hour, displays other than IP addresses, versions, handles
 * and PIDs of holders, reservations, queues, unknown counts, vendors without a feature, and errors of a vendor or
 * feature. Names must not begin or end with a blank or contain a line end; hosts must not contain `@`. `step` prints
 * only the member with this name.
 */
function renderLmx(reading: Reading, { zone, step }: RenderOptions): string {
  const { toolVersion, features, errors } = reading;
  const lines = [
    `LM-X End-user Utility ${toolVersion ?? "v5.1"}`,
    "Copyright (C) 2002-2022 X-Formation. All rights reserved.",
    "",
  ];
  const { length } = reading.members;
  const asked = reading.members.filter((member) => step === undefined || stepName(member, length) === step);
  // Give the features to the last member that is up, because a last server without features would look like
  // a cut text.
  const holder = asked.findLast(({ status }) => status === "up");
  for (const member of asked) {
    lines.push("+".repeat(40), `LM-X License Server on ${nameOf(member)}:`, "");
    if (member.status !== "up") lines.push(member.error?.message ?? UNREACHABLE, "");
    else
      lines.push(`Server version: ${member.version ?? "v5.1"} Uptime: 1 day(s) 0 hour(s) 0 min(s) 0 sec(s)`);
    if (member === holder) for (const feature of features) lines.push(...printFeature(feature, zone));
  }
  for (const { message } of errors)
    if (!reading.members.some(({ error }) => error?.message === message))
      lines.push("+".repeat(40), "LM-X license server(s):", RULE, message);
  return `${lines.join("\n")}\n`;
}

const UNREACHABLE = "XF Error: Unable to connect to license server!";

function printFeature(feature: FeatureReading, zone: string): string[] {
  return feature.pools.flatMap((pool, index) => {
    const { version, kind, expiry, total, used, unlimited } = pool;
    const held = feature.checkouts.filter((checkout) => (checkout.pool ?? 0) === index);
    const colon = held.length > 0 ? ":" : "";
    return [
      RULE,
      `Feature: ${feature.name} Version: ${version ?? "1.0"} Vendor: ${feature.daemon}`,
      ...(expiry.permanent || expiry.expiresOn !== null
        ? [`Start date: NONE Expire date: ${expiry.expiresOn ?? "NONE"}`]
        : []),
      `Key type: ${keyTypeOf(kind)} License sharing: CUSTOM VIRTUAL`,
      "",
      `${used ?? 0} of ${unlimited ? UNLIMITED : (total ?? 0)} license(s) used${colon}`,
      ...held.flatMap((checkout) => printHolder(checkout, zone)),
    ];
  });
}

function keyTypeOf(kind: PoolReading["kind"]): string {
  return kind === "token" ? "TOKEN" : "EXCLUSIVE";
}

function printHolder(held: CheckoutReading, zone: string): string[] {
  const { user, host, display, qualifier, startedAt, borrowed } = held;
  const times: string[] = [];
  if (startedAt !== null) {
    const time = dateTime(zone, startedAt);
    times.push(`Login time: ${time}`, `Checkout time: ${time}`);
  }
  if (borrowed)
    times.push(`Borrow expire time: ${dateTime(zone, (startedAt ?? 0) + BORROW_HOURS * HOUR_MS)}`);
  const where = `${host === null ? "" : `@${host}`}${display === null ? "" : ` [${display}]`}`;
  return [
    "",
    `${held.count} license(s) used by ${user ?? ""}${where}`,
    `${times.join("   ")} `,
    ...(qualifier === null ? [] : [`Shared on custom string: ${qualifier} `]),
  ];
}

const USAGE = "usage: lmxendutil -licstat -host <host> [-port <port>]\n";

/** `lmxendutil -licstat` ("LM-X End-user utility"), which queries one server. */
const simulatedLmxendutil: SimulatedTool = {
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

/**
 * Maximum time in seconds that lmxendutil waits for a server. With this limit, three silent servers fit
 * into the collector's default timeout of 30 s.
 */
const CONNECTION_TIMEOUT = "8";

function parseAddress(address: string): ParsedAddress | AddressProblem {
  return parseGroup(address, {
    title: "an LM-X",
    examples: "6200@lic1, lic1 (port 6200) or three separated by commas (high availability)",
    defaultPort: DEFAULT_PORT,
    // Matches `,`, `:` and `;`, but not the colons inside `[::1]`.
    separator: /[,:;](?![^[]*\])/,
    group: "high availability",
  });
}

/**
 * Queries each member of a high-availability set separately, because no answer lists the others. The first
 * member serves the licenses, the second serves them while the first is down, the third never does (LM-X
 * documentation, "HAL_SERVERS").
 */
function steps(tool: readonly string[], address: string): readonly Step[] {
  const parsed = parseAddress(address);
  const members = "problem" in parsed ? [] : parsed.members;
  return members.map(({ host, port }) => ({
    name: stepName({ host, port }, members.length),
    argv: [...tool, "-licstat", "-host", host, "-port", String(port ?? DEFAULT_PORT)],
    env: { LMX_CONNECTION_TIMEOUT: CONNECTION_TIMEOUT },
  }));
}

/**
 * Combines the members of all answers with the features of the first answer that has any features, because
 * all members have the same licenses.
 */
function merge(readings: readonly Reading[]): Reading {
  const up = readings.filter(({ members }) => members.some(({ status }) => status === "up"));
  const main = up.find(({ features }) => features.length > 0) ?? up[0] ?? readings[0];
  if (main === undefined) throw new Error("merge requires at least one reading");
  return {
    ...main,
    members: readings.flatMap(({ members }) => members),
    errors: up.length > 0 ? main.errors : readings.flatMap(({ errors }) => errors),
    unparsedLines: readings.reduce((sum, { unparsedLines }) => sum + unparsedLines, 0),
    unparsed: readings.flatMap(({ unparsed }) => unparsed),
    recognised: readings.some(({ recognised }) => recognised),
  };
}

export const lmx: Manager = {
  name: "lmx",
  title: "LM-X",
  tools: ["lmxendutil"],
  parseAddress,
  steps,
  until: "all",
  merge,
  commands: {
    status: {
      utility: "lmxendutil",
      forms: [{ argv: ["-licstat", "-host", "{server_host}", "-port", "{server_port}"] }],
    },
  },
  utility: (tool) => tool,
  createParser: createLmxParser,
  explain: () => null,
  /** Two of three members must be up (LM-X documentation, "HAL_SERVERS"). */
  quorum: majorityOfThree,
  debugLog: null,
  render: renderLmx,
  simulatedTool: simulatedLmxendutil,
};
