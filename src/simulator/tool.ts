import type { Reading } from "../domain/reading.ts";
import type { ManagerName } from "../domain/words.ts";
import type { Manager } from "../managers/manager.ts";
import type { MemberSpec } from "./server-spec.ts";

/** What a license manager's tool did: all of it at once. */
export interface ToolRun {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/** The license server that the tool talks to. */
export interface AskedServer {
  readonly manager: Manager;
  readonly address: string;
  readonly members: readonly MemberSpec[];
  readonly version: string;
  readonly zone: string;
  /** What the server says now, under these names of its members. */
  reading(members: readonly MemberSpec[]): Reading;
}

/** An option that the tool takes: `value` it must have, may have, or has none. */
type OptionValue = "none" | "optional" | "required";

interface Dialect {
  /** First words that are the tool's own name or its subcommand. */
  readonly names: readonly string[];
  readonly options: Readonly<Record<string, OptionValue>>;
  readonly usage: string;
  readonly version: (server: AskedServer) => string;
  /** lmutil exits with its error's number in one byte (256 + major), rlmutil with 1. */
  readonly exitCode: (reading: Reading) => number;
  /** The options that narrow the answer down to one daemon or feature. */
  readonly daemonOption: string;
  readonly featureOption: string;
  /** Without this option the answer has no features. */
  readonly allOptions: readonly string[];
}

/** lmstat of FlexNet Publisher 11.x ("License Administration Guide", lmstat). */
const LMSTAT: Dialect = {
  names: ["lmutil", "lmstat"],
  options: {
    "-a": "none",
    "-A": "none",
    "-c": "required",
    "-f": "optional",
    "-i": "optional",
    "-s": "optional",
    "-S": "optional",
    "-t": "required",
    "-v": "none",
  },
  usage: `usage: lmstat [-a] [-A] [-c license_file_list] [-f [feature]] [-i [feature]]
              [-s [server]] [-S [vendor]] [-t timeout_value] [-v]
`,
  version: () =>
    `lmutil - Copyright (c) 1989-2023 Flexera. All Rights Reserved.
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
  options: {
    "-a": "none",
    "-avail": "none",
    "-c": "required",
    "-i": "optional",
    "-l": "optional",
    "-n": "optional",
    "-p": "optional",
    "-q": "none",
    "-u": "optional",
    "-v": "none",
    "-z": "required",
  },
  usage: `usage: rlmstat [-a] [-avail] [-c license] [-i [isv]] [-l [isv]] [-n [host]]
               [-p [product]] [-q] [-u [user]] [-v] [-z password]
`,
  version: ({ version }) =>
    `rlmutil ${version}
Copyright (C) 2006-2017, Reprise Software, Inc. All rights reserved.
`,
  exitCode: ({ errors }) => (errors.length === 0 ? 0 : 1),
  daemonOption: "-i",
  featureOption: "-p",
  allOptions: ["-a", "-avail", "-i", "-l", "-p", "-u"],
};

const DIALECTS: Readonly<Record<ManagerName, Dialect>> = { flexnet: LMSTAT, rlm: RLMSTAT };

/** Answers a command line as the manager's tool would. `args` begin behind the tool's path. */
export function runTool(args: readonly string[], server: AskedServer): ToolRun {
  const { manager } = server;
  const dialect = DIALECTS[manager.name];
  const words = [...args];
  while (words[0] !== undefined && dialect.names.includes(words[0])) words.shift();
  const options = takeOptions(words, dialect.options);
  if ("problem" in options) return failed(`${options.problem}\n${dialect.usage}`);
  if (options.size === 0) return failed(dialect.usage);
  if (options.has("-v")) return { stdout: dialect.version(server), stderr: "", exitCode: 0 };

  const address = options.get("-c") || server.address;
  const asked = manager.parseAddress(address);
  if ("problem" in asked) return failed(`${address}: ${asked.problem}\n`);
  // Asked under other names, the server answers under those; a license file or one name of a triad says too little.
  const members =
    asked.members.length === server.members.length
      ? server.members.map((member, index) => ({
          ...member,
          host: asked.members[index]?.host ?? member.host,
          port: asked.members[index]?.port ?? member.port,
        }))
      : server.members;

  const whole = server.reading(members);
  const reading = {
    ...whole,
    features: whole.features.filter(
      ({ daemon, name }) =>
        dialect.allOptions.some((option) => options.has(option)) &&
        matches(options.get(dialect.daemonOption), daemon) &&
        matches(options.get(dialect.featureOption), name),
    ),
  };
  const stdout = manager.render(reading, { address, zone: server.zone });
  return { stdout, stderr: "", exitCode: dialect.exitCode(reading) };
}

function failed(stderr: string): ToolRun {
  return { stdout: "", stderr, exitCode: 1 };
}

/** No such option, or one without its value, is everything. */
function matches(wanted: string | undefined, name: string): boolean {
  return wanted === undefined || wanted === "" || wanted === name;
}

function takeOptions(
  words: readonly string[],
  known: Dialect["options"],
): Map<string, string> | { readonly problem: string } {
  const taken = new Map<string, string>();
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    const value = known[word];
    if (value === undefined) return { problem: `unknown option: ${word}` };
    const next = words[index + 1];
    const given = value !== "none" && next !== undefined && !next.startsWith("-");
    if (value === "required" && !given) return { problem: `${word} needs a value` };
    taken.set(word, given ? next : "");
    if (given) index++;
  }
  return taken;
}
