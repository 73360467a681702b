import type { Reading } from "../domain/reading.ts";
import type { FakeTool, Manager } from "./manager.ts";

/** How a manager's tool is asked and how it answers, apart from what it prints of a reading. */
export interface Dialect extends Pick<Manager, "parseAddress" | "render"> {
  /** First words that are the tool's own name or its subcommand. */
  readonly names: readonly string[];
  /** Names each option: without a value `[-a]`, with one that may be left out `[-f [feature]]`, and with one that may not. */
  readonly usage: string;
  /** What `-v` prints; `version` is that of the server. */
  readonly banner: (version: string) => string;
  readonly exitCode: (reading: Reading) => number;
  /** The options that narrow the answer down to one daemon or feature. */
  readonly daemonOption: string;
  readonly featureOption: string;
  /** Without one of these options the answer has no features. */
  readonly allOptions: readonly string[];
}

/** A tool whose options begin with `-`, and whose `-c` takes the address. */
export function fakeTool(dialect: Dialect): FakeTool {
  const { names, usage, banner, daemonOption, featureOption, allOptions, parseAddress, render } = dialect;
  return {
    answer(args, _stdin, server) {
      const first = args.findIndex((word) => !names.includes(word));
      const options = takeOptions(first === -1 ? [] : args.slice(first), usage);
      if (typeof options === "string") return failed(`${options}\n${usage}`);
      if (options.size === 0) return failed(usage);
      if (options.has("-v")) return { stdout: banner(server.version), stderr: "", exitCode: 0 };

      const address = options.get("-c") || server.address;
      const asked = parseAddress(address);
      if ("problem" in asked) return failed(`${address}: ${asked.problem}\n`);
      // Asked under other names, the server answers under those; a license file or one name of a triad says too little.
      const isWhole = asked.members.length === server.members.length;
      const members = server.members.map((one, index) => {
        const name = isWhole ? asked.members[index] : undefined;
        return { host: name?.host ?? one.host, port: name?.port ?? one.port };
      });

      const whole = server.reading(members);
      const isListed = allOptions.some((option) => options.has(option));
      const isWanted = (option: string, name: string) => [undefined, "", name].includes(options.get(option));
      const features = whole.features.filter(
        ({ daemon, name }) => isListed && isWanted(daemonOption, daemon) && isWanted(featureOption, name),
      );
      const stdout = render({ ...whole, features }, { address, zone: server.zone });
      return { stdout, stderr: "", exitCode: dialect.exitCode(whole) };
    },
  };
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
