import type { Reading } from "../domain/reading.ts";
import type { Manager } from "./manager.ts";
import type { SimulatedTool } from "./simulated-tool.ts";

export interface Dialect extends Pick<Manager, "parseAddress" | "render"> {
  /** Leading words to skip: the tool's own name or its subcommand. */
  readonly names: readonly string[];
  /** Lists each option: `[-a]` has no value, `[-f [feature]]` an optional and `[-c file]` a required one. */
  readonly usage: string;
  readonly banner: (version: string) => string;
  readonly exitCode: (reading: Reading) => number;
  readonly daemonOption: string;
  readonly featureOption: string;
  /** The answer contains features only with one of these options. */
  readonly allOptions: readonly string[];
}

/** Creates a tool whose options begin with `-` and whose `-c` takes the address. */
export function dialectTool(dialect: Dialect, reading: SimulatedTool["reading"]): SimulatedTool {
  const { names, usage, banner, daemonOption, featureOption, allOptions, parseAddress, render } = dialect;
  return {
    reading,
    answer(args, _stdin, server) {
      const first = args.findIndex((word) => !names.includes(word));
      const options = takeOptions(first === -1 ? [] : args.slice(first), usage);
      if (typeof options === "string") return failed(`${options}\n${usage}`);
      if (options.size === 0) return failed(usage);
      if (options.has("-v")) return { stdout: banner(server.version), stderr: "", exitCode: 0 };

      const address = options.get("-c") || server.address;
      const asked = parseAddress(address);
      if ("problem" in asked) return failed(`${address}: ${asked.problem}\n`);
      // A license file or one name of a triad does not name all members.
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

/** Returns the options with their values ("" if none), or an error message. */
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
