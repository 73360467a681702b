import type { Reading } from "../domain/reading.ts";
import { hostZone, isZone } from "../domain/time/zone.ts";
import type { ManagerName } from "../domain/words.ts";
import type { Manager } from "../managers/manager.ts";
import { type MemberSpec, SERVERS, type ServerSpec } from "./servers.ts";
import { createSite } from "./site.ts";

/** A mistake in the simulator's own options, before the tool is asked. */
export class SimulateUsageError extends Error {
  override readonly name = "SimulateUsageError";
}

/** The simulator's own options, each with a value. */
const OWN = ["--server", "--seed", "--timezone", "--ahead"];

/**
 * `[--server ID] [--seed N] [--timezone ZONE] [--ahead MS] TOOL-ARGUMENTS…`: the simulator's own options
 * come first, all else is the tool's. `now` is epoch ms.
 * @throws SimulateUsageError
 */
export function simulate(manager: Manager, args: readonly string[], now: number) {
  const { own, rest } = takeOwn(args);
  const wrong = (name: string, expected: string) =>
    new SimulateUsageError(`${name} is "${own.get(name)}"; expected ${expected}`);
  const integer = (name: string, fallback: number, form: RegExp): number => {
    const text = own.get(name) ?? String(fallback);
    if (!form.test(text)) throw wrong(name, "an integer from 0 to 999999999");
    return Number(text);
  };
  const zone = own.get("--timezone") ?? hostZone();
  if (!isZone(zone)) throw wrong("--timezone", "an IANA name, e.g. Europe/Berlin");
  const seed = integer("--seed", 1, /^\d{1,9}$/);
  const ahead = integer("--ahead", 0, /^-?\d{1,9}$/);
  const servers = SERVERS.filter((server) => server.manager === manager.name);
  const id = own.get("--server") ?? servers[0]?.id;
  const server = servers.find((one) => one.id === id);
  if (server === undefined) {
    const names = servers.map((one) => one.id).join(", ");
    throw new SimulateUsageError(`there is no simulated ${manager.title} server "${id}"; there are ${names}`);
  }
  const site = createSite({ seed, zone, ahead });
  return runTool(rest, manager, server, zone, (members) => site.reading(server, now, members));
}

function takeOwn(args: readonly string[]): { own: Map<string, string>; rest: readonly string[] } {
  const own = new Map<string, string>();
  let index = 0;
  while (index < args.length) {
    const [, name = "", attached] = /^([^=]+)(?:=(.*))?$/.exec(args[index] ?? "") ?? [];
    if (!OWN.includes(name)) break;
    const value = attached ?? args[index + 1];
    if (value === undefined || value === "") throw new SimulateUsageError(`${name} needs a value`);
    own.set(name, value);
    index += attached === undefined ? 2 : 1;
  }
  return { own, rest: args.slice(index) };
}

interface Dialect {
  /** First words that are the tool's own name or its subcommand. */
  readonly names: readonly string[];
  /** Names each option: without a value `[-a]`, with one that may be left out `[-f [feature]]`, and with one that may not. */
  readonly usage: string;
  readonly version: (server: ServerSpec) => string;
  /** lmutil exits with its error's number in one byte (256 + major), rlmutil with 1. */
  readonly exitCode: (reading: Reading) => number;
  /** The options that narrow the answer down to one daemon or feature. */
  readonly daemonOption: string;
  readonly featureOption: string;
  /** Without one of these options the answer has no features. */
  readonly allOptions: readonly string[];
}

/** lmstat of FlexNet Publisher 11.x ("License Administration Guide", lmstat). */
const LMSTAT: Dialect = {
  names: ["lmutil", "lmstat"],
  usage: `usage: lmstat [-a] [-A] [-c license_file_list] [-f [feature]] [-i [feature]]
              [-s [server]] [-S [vendor]] [-t timeout_value] [-v]
`,
  version: () => `lmutil - Copyright (c) 1989-2023 Flexera. All Rights Reserved.
lmstat v11.19.5.0 build 291047 x64_lsb
`,
  exitCode: ({ errors: [error] }) => (error === undefined ? 0 : (256 + (error.major ?? -1)) & 0xff),
  daemonOption: "-S",
  featureOption: "-f",
  allOptions: ["-a", "-f", "-i", "-S"],
};

/** rlmstat of RLM 12–14 ("RLM License Administration Manual", rlmutil). */
const RLMSTAT: Dialect = {
  names: ["rlmutil", "rlmstat"],
  usage: `usage: rlmstat [-a] [-avail] [-c license] [-i [isv]] [-l [isv]] [-n [host]]
               [-p [product]] [-q] [-u [user]] [-v] [-z password]
`,
  version: ({ version }) => `rlmutil ${version}
Copyright (C) 2006-2017, Reprise Software, Inc. All rights reserved.
`,
  exitCode: ({ errors }) => (errors.length === 0 ? 0 : 1),
  daemonOption: "-i",
  featureOption: "-p",
  allOptions: ["-a", "-avail", "-i", "-l", "-p", "-u"],
};

const DIALECTS: Readonly<Record<ManagerName, Dialect | undefined>> = { flexnet: LMSTAT, rlm: RLMSTAT };

/** Answers a command line as the manager's tool would. `args` are those after the tool's path. */
function runTool(
  args: readonly string[],
  manager: Manager,
  server: ServerSpec,
  zone: string,
  readingOf: (members: readonly MemberSpec[]) => Reading,
) {
  const dialect = DIALECTS[manager.name];
  if (dialect === undefined) return failed(`no tool of ${manager.title} is simulated\n`);
  const { names, usage, daemonOption, featureOption, allOptions } = dialect;
  const first = args.findIndex((word) => !names.includes(word));
  const options = takeOptions(first === -1 ? [] : args.slice(first), usage);
  if (typeof options === "string") return failed(`${options}\n${usage}`);
  if (options.size === 0) return failed(usage);
  if (options.has("-v")) return { stdout: dialect.version(server), stderr: "", exitCode: 0 };

  const address = options.get("-c") || server.address;
  const asked = manager.parseAddress(address);
  if ("problem" in asked) return failed(`${address}: ${asked.problem}\n`);
  // Asked under other names, the server answers under those; a license file or one name of a triad says too little.
  const isWhole = asked.members.length === server.members.length;
  const members = server.members.map((one, index) => {
    const name = isWhole ? asked.members[index] : undefined;
    return { ...one, host: name?.host ?? one.host, port: name?.port ?? one.port };
  });

  const whole = readingOf(members);
  const isListed = allOptions.some((option) => options.has(option));
  const isWanted = (option: string, name: string) => [undefined, "", name].includes(options.get(option));
  const features = whole.features.filter(
    ({ daemon, name }) => isListed && isWanted(daemonOption, daemon) && isWanted(featureOption, name),
  );
  const stdout = manager.render({ ...whole, features }, { address, zone });
  return { stdout, stderr: "", exitCode: dialect.exitCode(whole) };
}

function failed(stderr: string) {
  return { stdout: "", stderr, exitCode: 1 };
}

/** The options with their values ("" = none), or what is wrong with them. */
function takeOptions(words: readonly string[], usage: string): Map<string, string> | string {
  const taken = new Map<string, string>();
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    const takesValue = usage.includes(`[${word} `);
    if (!word.startsWith("-") || !(takesValue || usage.includes(`[${word}]`)))
      return `unknown option: ${word}`;
    const next = words[index + 1];
    const given = takesValue && next !== undefined && !next.startsWith("-");
    if (takesValue && !given && !usage.includes(`[${word} [`)) return `${word} needs a value`;
    taken.set(word, given ? next : "");
    if (given) index++;
  }
  return taken;
}
