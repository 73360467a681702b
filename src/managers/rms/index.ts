import type { AddressProblem, Manager, ParsedAddress } from "../manager.ts";
import { fakeLsmon } from "./fake.ts";
import { createRmsParser } from "./parser.ts";
import { renderRms } from "./render.ts";

const HOST = /^(?:[A-Za-z0-9_][A-Za-z0-9._-]*|[0-9A-Fa-f]*:[0-9A-Fa-f:.]+)$/;

/** A host, as `lsmon` takes it: it knows no port. */
function parseAddress(address: string): ParsedAddress | AddressProblem {
  if (address === "") return problem("it is empty");
  if (/[\u0000-\u001f\u007f]/.test(address)) return problem("it has control characters");
  if (/\s/.test(address)) return problem("it has blanks");
  if (/^\d+$/.test(address)) return problem("lsmon would read a number as an interval, and never end");
  if (address.includes("@")) return problem("lsmon takes no port");
  return HOST.test(address)
    ? { members: [{ host: address, port: null }] }
    : problem(`\`${address.slice(0, 60)}\` is not a host name`);
}

function problem(reason: string): AddressProblem {
  return { problem: `not an address of Sentinel RMS: ${reason}. Expected a host, such as lic1` };
}

/** Sentinel RMS (SentinelLM), asked through its own lsmon. */
export const rms: Manager = {
  name: "rms",
  title: "Sentinel RMS",
  tools: ["lsmon"],
  parseAddress,
  /** Without an interval, with which it would print forever. On Windows it waits for Enter: its stdin is closed. */
  steps: (tool, address) => [{ name: address, argv: [...tool, address], env: {} }],
  commands: { status: { utility: "lsmon", forms: [{ argv: ["{address}"] }] } },
  utility: (tool) => tool,
  createParser: createRmsParser,
  explain: () => null,
  quorum: () => 1,
  debugLog: null,
  render: renderRms,
  fake: fakeLsmon,
};
