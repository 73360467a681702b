import type { Pseudonyms } from "./pseudonyms.ts";

/** Names in stored rows, in and out, as the caller may see them. */
export interface NamesFor {
  /** The stored names that a filter means; for an anonymized caller those whose pseudonyms it names. */
  wanted<Filter extends People>(filter: Filter): Filter;
  user(name: string): string;
  host(name: string | null): string | null;
  session(id: number): number;
  /** Of free text about people nothing is left. */
  text(words: string | null): string | null;
}

/** Null = any. */
interface People {
  readonly users: readonly string[] | null;
  readonly hosts: readonly string[] | null;
}

/**
 * `pseudonyms` is null for who may see names. `stored` gives every name that can come up: pseudonyms cannot be turned
 * back.
 */
export function namesFor(
  pseudonyms: Pseudonyms | null,
  stored: () => { readonly users: readonly string[]; readonly hosts: readonly string[] },
): NamesFor {
  if (pseudonyms === null) {
    return {
      wanted: (filter) => filter,
      user: (name) => name,
      host: (name) => name,
      session: (id) => id,
      text: (words) => words,
    };
  }
  const pick = (asked: readonly string[] | null, names: readonly string[], of: (name: string) => string) => {
    if (asked === null) return null;
    const wanted = new Set(asked);
    return names.filter((name) => wanted.has(of(name)));
  };
  return {
    wanted(filter) {
      const { users, hosts } = filter;
      if (users === null && hosts === null) return filter;
      const all = stored();
      return {
        ...filter,
        users: pick(users, all.users, pseudonyms.user),
        hosts: pick(hosts?.map((host) => host.toLowerCase()) ?? null, all.hosts, pseudonyms.host),
      };
    },
    user: pseudonyms.user,
    host: (name) => (name === null ? null : pseudonyms.host(name)),
    session: pseudonyms.session,
    text: () => null,
  };
}
