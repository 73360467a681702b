import type { Reading } from "../../domain/reading.ts";
import type { AddressProblem, Manager, ParsedAddress, Step } from "../manager.ts";
import { createLmxParser } from "./parser.ts";
import { renderLmx } from "./render.ts";
import { simulatedLmxendutil } from "./simulated-tool.ts";
import { DEFAULT_PORT, nameOf, stepName } from "./step-name.ts";

const HOST = /^(?:[A-Za-z0-9_][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])$/;
/** Matches `,`, `:` and `;`, but not the colons inside `[::1]`. */
const SEPARATOR = /[,:;](?![^[]*\])/;
const EXAMPLE = "6200@lic1, lic1 (port 6200) or three separated by commas (high availability)";

/**
 * Seconds that lmxendutil waits for a server. Three silent servers then fit into the collector's default timeout of
 * 30 s.
 */
const CONNECTION_TIMEOUT = "8";

/** Parses `port@host`, `host` (port 6200), or three of them: the members of a high-availability set. */
function parseAddress(address: string): ParsedAddress | AddressProblem {
  if (address === "") return problem("empty");
  if (/[\u0000-\u001f\u007f]/.test(address)) return problem("it contains control characters");
  if (/\s/.test(address)) return problem("it contains blanks");
  const members = new Map<string, { host: string; port: number }>();
  for (const spec of address.split(SEPARATOR)) {
    const at = spec.lastIndexOf("@");
    const host = spec.slice(at + 1);
    const port = at === -1 ? String(DEFAULT_PORT) : spec.slice(0, at);
    if (!HOST.test(host)) return problem(`\`${host.slice(0, 60)}\` is not a host name`);
    if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535)
      return problem(`\`${port.slice(0, 60)}\` is not a port from 1 to 65535`);
    // Remove the brackets of an IPv6 address.
    const member = { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
    const key = nameOf(member).toLowerCase();
    if (members.has(key)) return problem(`\`${spec}\` occurs twice`);
    members.set(key, member);
  }
  return members.size === 1 || members.size === 3
    ? { members: [...members.values()] }
    : problem(`expected one server or three (high availability), got ${members.size}`);
}

function problem(reason: string): AddressProblem {
  return { problem: `not an LM-X address: ${reason}. Expected ${EXAMPLE}` };
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
 * Combines the members of all answers with the features of the first answer that has any; all members know the same
 * licenses.
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

/** X-Formation LM-X License Manager, queried with lmxendutil. */
export const lmx: Manager = {
  name: "lmx",
  title: "LM-X",
  tools: ["lmxendutil"],
  parseAddress,
  steps,
  until: "all",
  merge,
  /** lmxendutil takes host and port of the member that answered. */
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
  quorum: (members) => (members === 3 ? 2 : 1),
  debugLog: null,
  render: renderLmx,
  simulatedTool: simulatedLmxendutil,
};
