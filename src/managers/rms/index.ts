import type {
  CheckoutReading,
  FeatureReading,
  PoolReading,
  QueueReading,
  Reading,
} from "../../domain/reading.ts";
import { wallClock } from "../../domain/time/zone.ts";
import { shortened, unsafeText } from "../addresses.ts";
import type { AddressProblem, Manager, ParsedAddress, RenderOptions } from "../manager.ts";
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
import { printTime, UNLIMITED } from "./lines.ts";
import { createRmsParser } from "./parser.ts";

const DEFAULT_VERSION = "9.1.0.0104";

/**
 * Prints what lsmon prints on Windows for this reading; parsing it returns the reading. The format cannot express
 * report times, more than one member, ports, versions of a member, fractions of a second, starts in a repeated hour,
 * versions, handles and PIDs of clients, daemons, reservations by name, unknown counts, and errors of a feature.
 * Names must not begin or end with a blank (a feature's may) or contain a line end.
 */
function renderRms(reading: Reading, { address, zone }: RenderOptions): string {
  const [member] = reading.members;
  const lines = [
    `  Sentinel RMS Development Kit ${reading.toolVersion ?? DEFAULT_VERSION} Application Monitor`,
    "  Copyright (C) 2016 SafeNet, Inc.",
    "",
    ` [Contacting Sentinel RMS Development Kit server on host "${member?.host ?? address}"]`,
    "",
    "",
  ];
  const errors = reading.errors.map(({ message }) => message);
  if (member?.status === "down" && errors.length === 0)
    errors.push(member.error?.message ?? "Server name not set, or monitor cannot talk to the server.");
  for (const feature of reading.features) lines.push(...printFeature(feature, zone));
  for (const message of errors) lines.push(` ${message}`);
  if (errors.length + reading.features.length === 0) lines.push(" No licensed features.");
  lines.push(" Press Enter to continue . . .");
  return lines.join("\n");
}

function printFeature(feature: FeatureReading, zone: string): string[] {
  return feature.pools.flatMap((pool, index) => {
    const ofPool = (row: { readonly pool: number | null }) => (row.pool ?? 0) === index;
    return [
      " |- Feature Information",
      ...entries(3, {
        "Feature name": `"${feature.name}"  \t`,
        "Feature version": `"${pool.version ?? ""}"`,
      }),
      "",
      ...entries(3, countsOf(pool, index === 0 ? (feature.reserved ?? 0) : 0, zone)),
      "",
      ...feature.checkouts.filter(ofPool).flatMap((held) => printClient(held, zone)),
      ...feature.queue.filter(ofPool).flatMap((waiting) => printQueued(waiting)),
    ];
  });
}

/** Prints all of `used` as unreserved, because readings do not keep the reserved part. */
function countsOf({ total, used, unlimited, expiry }: PoolReading, reserved: number, zone: string) {
  const expires =
    expiry.expiresAt === null ? "License has no expiration." : printTime(wallClock(zone, expiry.expiresAt));
  return {
    "License type": '"Normal License" ',
    "Maximum concurrent user(s)": String(unlimited ? UNLIMITED : (total ?? 0)),
    "Unreserved tokens in use": String(used ?? 0),
    "Reserved tokens in use": "0",
    "Available reserved": String(reserved),
    ...(expiry.permanent || expiry.expiresOn !== null ? { "Expiration date": expires } : {}),
    "Allowed on VM": "YES",
  };
}

function printClient(held: CheckoutReading, zone: string): string[] {
  const since = held.startedAt === null ? null : printTime(wallClock(zone, held.startedAt));
  return [
    "   |- Client Information",
    ...entries(5, {
      ...whoOf(held),
      Status: since === null ? "This license is being held." : `Running since ${since} `,
      "Number of tokens used": String(held.count),
      "Is commuter token": held.borrowed ? "YES" : "NO",
    }),
    "",
  ];
}

function printQueued(waiting: QueueReading): string[] {
  return [
    "   |- Queued Client Information:",
    ...entries(5, { ...whoOf(waiting), "No of tokens requested": String(waiting.count) }),
    "",
  ];
}

function whoOf({
  user,
  host,
  display,
  qualifier,
}: Pick<QueueReading, "user" | "host" | "display" | "qualifier">) {
  return {
    "User name": user ?? "",
    "Host name": host ?? "",
    "X display name": display ?? "",
    "Group name": "DefaultGrp",
    ...(qualifier === null ? {} : { "ID for token sharing": qualifier }),
  };
}

function entries(indent: number, values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).map(([key, value]) => `${" ".repeat(indent)}|- ${key.padEnd(31)}: ${value}`);
}

const USAGE = "Use lsmon <hostname> or set the LSHOST environment variable.\n";

/** `lsmon HOST` of Sentinel RMS 9.x on Windows, without intervals. */
const simulatedLsmon: SimulatedTool = {
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

const HOST = /^(?:[A-Za-z0-9_][A-Za-z0-9._-]*|[0-9A-Fa-f]*:[0-9A-Fa-f:.]+)$/;

function parseAddress(address: string): ParsedAddress | AddressProblem {
  const unsafe = unsafeText(address);
  if (unsafe !== null) return problem(unsafe);
  if (/^\d+$/.test(address)) return problem("lsmon takes a number as an interval and would not exit");
  if (address.includes("@")) return problem("lsmon takes no port");
  return HOST.test(address)
    ? { members: [{ host: address, port: null }] }
    : problem(`\`${shortened(address)}\` is not a host name`);
}

function problem(reason: string): AddressProblem {
  return { problem: `not a Sentinel RMS address: ${reason}. Expected a host name, e.g. lic1` };
}

export const rms: Manager = {
  name: "rms",
  title: "Sentinel RMS",
  tools: ["lsmon"],
  parseAddress,
  /** On Windows lsmon waits for Enter at the end, so its stdin is closed. */
  steps: (tool, address) => [{ name: address, argv: [...tool, address], env: {} }],
  commands: { status: { utility: "lsmon", forms: [{ argv: ["{address}"] }] } },
  utility: (tool) => tool,
  createParser: createRmsParser,
  explain: () => null,
  quorum: () => 1,
  debugLog: null,
  render: renderRms,
  simulatedTool: simulatedLsmon,
};
