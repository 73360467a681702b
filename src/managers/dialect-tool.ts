import type { Reading } from "../domain/reading.ts";
import type { Manager } from "./manager.ts";
import type { SimulatedTool } from "./simulated-tool.ts";

export interface Dialect extends Pick<Manager, "parseAddress" | "render"> {
  /** Leading words to skip: the tool's own name or its subcommand. */
  readonly names: readonly string[];
  /**
   * Lists the options: `[-a]` has no value, `[-f [feature]]` has an optional value, `[-c file]` has a
   * required value.
   */
  readonly usage: string;
  readonly banner: (version: string) => string;
  readonly exitCode: (reading: Reading) => number;
  readonly daemonOption: string;
  readonly featureOption: string;
  /** Options that make the tool list features; without any of these options, the answer has no features. */
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
      // Answer with the names in the address only if they name all members. A license file or one host of a
      // triad does not.
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
