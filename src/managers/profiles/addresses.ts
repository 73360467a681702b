import type { KeyPath } from "../../domain/schema-problems.ts";
import type { AddressProblem, ParsedAddress } from "../manager.ts";

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])$/;
const EXAMPLE = "31010@lic7, lic7:31010, or several of them, separated by commas";
const PLACEHOLDER = /\{([a-z0-9_]+)\}/g;

type Texts = Readonly<Record<string, string | undefined>>;
interface Templates {
  readonly argv?: readonly string[] | undefined;
  readonly env?: Texts | undefined;
  readonly stdin?: string | undefined;
  readonly http?: Request | undefined;
  readonly login?: (Request & { readonly body?: string | undefined }) | undefined;
}
interface Request {
  readonly url?: string | undefined;
  readonly query?: Texts | undefined;
  readonly headers?: Texts | undefined;
}

/** Returns the texts of a profile that may contain placeholders, with their keys. */
export function templatesOf({ argv = [], env, stdin, http, login }: Templates) {
  const found: { readonly path: KeyPath; readonly text: string }[] = [];
  const add = (path: KeyPath, text: string | undefined) =>
    text === undefined ? undefined : found.push({ path, text });
  const addAll = (path: KeyPath, texts: Texts = {}) => {
    for (const [key, text] of Object.entries(texts)) add([...path, key], text);
  };
  for (const [index, word] of argv.entries()) add(["argv", index], word);
  addAll(["env"], env);
  add(["stdin"], stdin);
  for (const [key, request] of Object.entries({ http, login })) {
    add([key, "url"], request?.url);
    addAll([key, "query"], request?.query);
    addAll([key, "headers"], request?.headers);
  }
  add(["login", "body"], login?.body);
  return found;
}

export function placesIn(text: string): readonly string[] {
  return [...text.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
}

export function fillIn(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(PLACEHOLDER, (whole, name: string) => values[name] ?? whole);
}

/** Parses the address of a server with a profile. If the profile does not use `{host}`, the address may be a path. */
export function parseProfileAddress(
  profile: Templates & { readonly name?: string | undefined; readonly port?: number | undefined },
  address: string,
): ParsedAddress | AddressProblem {
  if (address.trim() === "") return { problem: `the address is empty; expected ${EXAMPLE}` };
  if (address !== address.trim()) return { problem: "the address starts or ends with a blank" };
  if (/[\0-\x1f\x7f]/.test(address)) return { problem: "the address contains a control character" };
  if (address.startsWith("-")) return { problem: `the address looks like an option; expected ${EXAMPLE}` };
  const places = templatesOf(profile).flatMap(({ text }) => placesIn(text));
  if (address.includes("/") && !places.includes("host")) return { members: [] };
  const members = new Map<string, { host: string; port: number | null }>();
  for (const spec of address.split(",")) {
    const [, before, host = "", after] = /^(?:(\d+)@)?([^@:]+|\[[^\]]*\])(?::(\d+))?$/.exec(spec) ?? [];
    const given = before ?? after;
    if (!HOST.test(host) || (before !== undefined && after !== undefined))
      return { problem: `invalid server "${spec}"; expected ${EXAMPLE}` };
    const port = given === undefined ? (profile.port ?? null) : Number(given);
    if (port !== null && (port < 1 || port > 65_535))
      return { problem: `invalid port "${given}" in "${spec}"; expected 1 to 65535` };
    if (port === null && places.includes("port"))
      return {
        problem: `"${spec}" has no port, and ${profile.name} has no default port; expected ${EXAMPLE}`,
      };
    const key = `${port}@${host.toLowerCase()}`;
    if (members.has(key)) return { problem: `duplicate server "${spec}"` };
    members.set(key, { host, port });
  }
  return { members: [...members.values()] };
}
