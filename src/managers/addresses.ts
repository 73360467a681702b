import type { AddressProblem, ParsedAddress } from "./manager.ts";

interface GroupForm {
  readonly title: string;
  readonly examples: string;
  readonly defaultPort: number;
  readonly separator: string | RegExp;
  /** Name of a group in error messages, e.g. `a failover cluster`. */
  readonly group: string;
}

export const GROUP_SIZE = 3;

/** Accepts only hosts that are safe inside a command. */
const HOST = /^(?:[A-Za-z0-9_][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])$/;

/** Parses `port@host` or `host`, or the three servers of a group. */
export function parseGroup(address: string, form: GroupForm): ParsedAddress | AddressProblem {
  const problem = (reason: string) => {
    return { problem: `not ${form.title} address: ${reason}. Expected ${form.examples}` };
  };
  const unsafe = unsafeText(address);
  if (unsafe !== null) return problem(unsafe);
  const members = new Map<string, { host: string; port: number }>();
  for (const spec of address.split(form.separator)) {
    const at = spec.lastIndexOf("@");
    const host = spec.slice(at + 1);
    const port = at === -1 ? String(form.defaultPort) : spec.slice(0, at);
    if (!HOST.test(host)) return problem(`\`${shortened(host)}\` is not a host name`);
    if (!isPort(port)) return problem(`\`${shortened(port)}\` is not a port from 1 to 65535`);
    const key = `${Number(port)}@${host.toLowerCase()}`;
    if (members.has(key)) return problem(`\`${spec}\` occurs twice`);
    members.set(key, { host: withoutBrackets(host), port: Number(port) });
  }
  return members.size === 1 || members.size === GROUP_SIZE
    ? { members: [...members.values()] }
    : problem(`expected one server or three (${form.group}), got ${members.size}`);
}

/** Returns why the address cannot be passed to a tool; null if it can be passed. */
export function unsafeText(address: string): string | null {
  if (address === "") return "empty";
  if (/[\0-\x1f\x7f]/.test(address)) return "it contains control characters";
  return /\s/.test(address) ? "it contains blanks" : null;
}

export function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

/** Removes the brackets of IPv6. */
export function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, "");
}

export function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** Returns how many members must be up: two of a group of three, otherwise one. */
export function majorityOfThree(members: number): number {
  return members === GROUP_SIZE ? 2 : 1;
}
