import type { Exchange } from "../exchange.ts";
import type { Pseudonyms } from "./pseudonyms.ts";

/** Names in stored rows, in and out, as the caller may see them. */
export interface NamesFor {
  /** The stored names that a filter means; for an anonymized caller those whose pseudonyms it names. */
  wanted(filter: Filter): Promise<Filter>;
  user(name: string): string;
  host(name: string | null): string | null;
  /** Of free text about people nothing is left. */
  text(words: string | null): string | null;
}

interface Filter {
  readonly users: readonly string[] | null;
  readonly hosts: readonly string[] | null;
}

/** `stored` gives every name there is: pseudonyms cannot be turned back. */
export function namesFor(
  { caller }: Pick<Exchange, "caller">,
  pseudonyms: Pseudonyms,
  stored: () => Promise<{ readonly users: readonly string[]; readonly hosts: readonly string[] }>,
): NamesFor {
  if (caller?.anonymize !== true) {
    return {
      wanted: (filter) => Promise.resolve(filter),
      user: (name) => name,
      host: (name) => name,
      text: (words) => words,
    };
  }
  return {
    async wanted({ users, hosts }) {
      if (users === null && hosts === null) return { users, hosts };
      const all = await stored();
      const pick = (
        asked: readonly string[] | null,
        names: readonly string[],
        of: (name: string) => string,
      ) => asked && names.filter((name) => asked.includes(of(name)));
      return {
        users: pick(users, all.users, pseudonyms.user),
        hosts: pick(hosts?.map((host) => host.toLowerCase()) ?? null, all.hosts, pseudonyms.host),
      };
    },
    user: pseudonyms.user,
    host: (name) => (name === null ? null : pseudonyms.host(name)),
    text: () => null,
  };
}
