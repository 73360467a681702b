/** Names for people and their machines that tell nothing of the real ones, and are the same every time. */
export interface Pseudonyms {
  user(name: string): string;
  /** Hosts are the same in any case, as everywhere. */
  host(name: string): string;
  /** The number of an imported session holds a hash of its user, by which names could be guessed; others tell nothing. */
  session(id: number): number;
}

/** 64 bits: among a million names the odds of two that share one are 1 in 40 million. */
const HEX_DIGITS = 16;
/** 52 bits: what a number holds exactly. */
const NUMBER_DIGITS = 13;
/** Names kept; a site has far fewer. */
const MAX_KEPT = 100_000;

/**
 * HMAC-SHA256 of the kind and the name under a secret of the installation. Without the secret an attacker cannot try
 * names one by one, which a plain hash would allow.
 */
export function createPseudonyms(secret: Uint8Array): Pseudonyms {
  const kept = new Map<string, string>();
  const digestOf = (what: string): string =>
    new Bun.CryptoHasher("sha256", secret).update(what).digest("hex");
  const of = (kind: "user" | "host", name: string): string => {
    const what = `${kind}\0${name}`;
    const known = kept.get(what);
    if (known !== undefined) return known;
    const made = `${kind}-${digestOf(what).slice(0, HEX_DIGITS)}`;
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(what, made);
    return made;
  };
  return {
    user: (name) => of("user", name),
    host: (name) => of("host", name.toLowerCase()),
    session: (id) =>
      id >= 0 ? id : -Number.parseInt(digestOf(`session\0${id}`).slice(0, NUMBER_DIGITS), 16),
  };
}

/** Names in stored rows, in and out, as the caller may see them. */
interface NamesFor {
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
 * `pseudonyms` is null for callers that may see names. `stored` gives every name that can come up: pseudonyms cannot
 * be turned back.
 */
export function namesFor(
  pseudonyms: Pseudonyms | null,
  stored: () => { readonly users: readonly string[]; readonly hosts: readonly string[] },
): NamesFor {
  if (pseudonyms === null) {
    const same = <T>(name: T): T => name;
    return { wanted: same, user: same, host: same, session: same, text: same };
  }
  const pick = (asked: readonly string[] | null, names: readonly string[], of: (name: string) => string) => {
    const wanted = asked && new Set(asked);
    return wanted && names.filter((name) => wanted.has(of(name)));
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
