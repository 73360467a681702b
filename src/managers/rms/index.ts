import { shortened, unsafeText } from "../addresses.ts";
import type { AddressProblem, Manager, ParsedAddress } from "../manager.ts";
import { createRmsParser } from "./parser.ts";
import { renderRms } from "./render.ts";
import { simulatedLsmon } from "./simulated-tool.ts";

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
