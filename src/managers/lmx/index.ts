import type { Reading } from "../../domain/reading.ts";
import { majorityOfThree, parseGroup } from "../addresses.ts";
import type { AddressProblem, Manager, ParsedAddress, Step } from "../manager.ts";
import { createLmxParser } from "./parser.ts";
import { renderLmx } from "./render.ts";
import { simulatedLmxendutil } from "./simulated-tool.ts";
import { DEFAULT_PORT, stepName } from "./step-name.ts";

/**
 * Seconds that lmxendutil waits for a server. Three silent servers then fit into the collector's default timeout of
 * 30 s.
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
 * Queries each member of a high-availability set separately, because no answer lists the others. The first serves the
 * licenses, the second does while the first is down, the third never does (LM-X documentation, "HAL_SERVERS").
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
 * Combines the members of all answers with the features of the first answer that has any: all members have
 * the same licenses.
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
  /** Majority rule: two of three (LM-X documentation, "HAL_SERVERS"). */
  quorum: majorityOfThree,
  debugLog: null,
  render: renderLmx,
  simulatedTool: simulatedLmxendutil,
};
