import type { FeatureReading, Reading } from "../../domain/reading.ts";
import type { HttpQuestion, Manager, RequestStep, Step } from "../manager.ts";
import type { Profile } from "../profile.ts";
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
import { fillIn, parseProfileAddress, templatesOf } from "./addresses.ts";
import { parseJson, textAt } from "./paths.ts";

/** Creates the manager that a profile describes. It has no commands and no debug log. */
export function profileManager(profile: Profile): Manager {
  const { name, title = name, argv, env = {}, stdin, stream } = profile;
  const isPerHost = templatesOf(profile).some(({ text }) => /\{(?:host|port)\}/.test(text));

  function commandStep(step: string, tool: readonly string[], values: Values): Step {
    return {
      name: step,
      argv: [...tool, ...(argv ?? []).slice(1).map((word) => fillIn(word, values))],
      env: filled(env, values),
      ...(stdin !== undefined && { stdin: fillIn(stdin, values) }),
      ...(stream !== undefined && { stream }),
    };
  }

  return {
    name,
    title,
    profile,
    ...(profile.experimental === true && { experimental: true }),
    tools: argv?.slice(0, 1) ?? [],
    parseAddress: (address) => parseProfileAddress(profile, address),
    until: "first answer",
    steps(tool, address) {
      const parsed = parseProfileAddress(profile, address);
      const members = "problem" in parsed ? [] : parsed.members;
      const whole = { step: members.length === 1 ? nameOf(members[0]) : address, values: { address } };
      const each = members.map((member) => {
        const port = member.port === null ? "" : String(member.port);
        return { step: nameOf(member), values: { address: nameOf(member), host: member.host, port } };
      });
      return (isPerHost ? each : [whole]).map(({ step, values }) =>
        profile.http === undefined ? commandStep(step, tool, values) : requestStep(profile, step, values),
      );
    },
    commands: {},
    utility: (tool) => tool,
    createParser: () => {
      throw new Error(`answers of the profile ${name} are parsed in a worker`);
    },
    explain: () => null,
    quorum: () => 1,
    debugLog: null,
    render: () => {
      throw new Error(`the profile ${name} has no simulated tool`);
    },
    simulatedTool: name === "lsdyna" ? simulatedLstcQrun : null,
  };
}

type Values = Readonly<Record<string, string>>;

function nameOf(member: { readonly host: string; readonly port: number | null } | undefined): string {
  if (member === undefined) return "";
  return member.port === null ? member.host : `${member.port}@${member.host}`;
}

function filled(texts: Values | undefined, values: Values): Record<string, string> {
  return Object.fromEntries(Object.entries(texts ?? {}).map(([key, text]) => [key, fillIn(text, values)]));
}

function requestStep({ http, login }: Profile, name: string, values: Values): RequestStep {
  const question = (method: HttpQuestion["method"], of: NonNullable<Profile["http"]>): HttpQuestion => ({
    method,
    url: fillIn(of.url, values),
    ...(of.query !== undefined && { query: filled(of.query, values) }),
    ...(of.headers !== undefined && { headers: filled(of.headers, values) }),
  });
  const request = question("GET", http ?? { url: "" });
  if (login === undefined) return { name, request };
  return {
    name,
    request,
    login: {
      ...question("POST", login),
      ...(login.body !== undefined && { body: fillIn(login.body, values) }),
      token(answer) {
        const parsed = parseJson(answer);
        return ("value" in parsed ? textAt(parsed.value, [login.token]) : undefined) ?? null;
      },
    },
  };
}

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
