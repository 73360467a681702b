import type { AddressProblem, ParsedAddress } from "../manager.ts";
import type { Profile } from "./profile.ts";

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])$/;
const EXAMPLE = "31010@lic7, lic7:31010, or several of them, separated by commas";
const PLACEHOLDER = /\{([a-z]+)\}/g;

/** The texts of a profile in which placeholders are filled in. */
export function templatesOf({ argv = [], env = {}, stdin, http, login }: Profile): readonly string[] {
  const requests = [http, login].flatMap((each) =>
    each === undefined
      ? []
      : [each.url, ...Object.values(each.query ?? {}), ...Object.values(each.headers ?? {})],
  );
  const rest = [stdin, login?.body].filter((text) => text !== undefined);
  return [...argv, ...Object.values(env), ...requests, ...rest];
}

export function placesIn(text: string): readonly string[] {
  return [...text.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
}

/** A template with what is known; other placeholders stay as they are. */
export function fillIn(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(PLACEHOLDER, (whole, name: string) => values[name] ?? whole);
}

/** `port@host`, `host:port` or `host`, several with commas; or a path, where the profile takes no address apart. */
export function parseProfileAddress(profile: Profile, address: string): ParsedAddress | AddressProblem {
  if (address.trim() === "") return { problem: `the address is empty; expected ${EXAMPLE}` };
  if (address !== address.trim()) return { problem: "the address begins or ends with a blank" };
  if (/[\0-\x1f\x7f]/.test(address)) return { problem: "the address holds a control character" };
  if (address.startsWith("-")) return { problem: `the address looks like an option; expected ${EXAMPLE}` };
  const places = templatesOf(profile).flatMap(placesIn);
  if (address.includes("/") && !places.includes("host")) return { members: [] };
  const members = new Map<string, { host: string; port: number | null }>();
  for (const spec of address.split(",")) {
    const [, before, host = "", after] = /^(?:(\d+)@)?([^@:]+|\[[^\]]*\])(?::(\d+))?$/.exec(spec) ?? [];
    const given = before ?? after;
    if (!HOST.test(host) || (before !== undefined && after !== undefined))
      return { problem: `"${spec}" is no server; expected ${EXAMPLE}` };
    const port = given === undefined ? (profile.port ?? null) : Number(given);
    if (port !== null && (port < 1 || port > 65_535))
      return { problem: `"${given}" in "${spec}" is not a port; expected 1 to 65535` };
    if (port === null && places.includes("port"))
      return {
        problem: `"${spec}" names no port, and ${profile.name} has none of its own; expected ${EXAMPLE}`,
      };
    const key = `${port}@${host.toLowerCase()}`;
    if (members.has(key)) return { problem: `"${spec}" stands twice in the address` };
    members.set(key, { host, port });
  }
  return { members: [...members.values()] };
}
