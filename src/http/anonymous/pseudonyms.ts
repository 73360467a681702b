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
 * HMAC-SHA256 of the kind and the name under a secret of the installation. Without the secret nobody can try names
 * one by one, which a plain hash would allow.
 */
export function createPseudonyms(secret: Uint8Array): Pseudonyms {
  const kept = new Map<string, string>();
  const digestOf = (kind: keyof Pseudonyms, name: string): string =>
    new Bun.CryptoHasher("sha256", secret).update(`${kind}\0${name}`).digest("hex");
  const of = (kind: "user" | "host", name: string): string => {
    const what = `${kind}\0${name}`;
    const known = kept.get(what);
    if (known !== undefined) return known;
    const made = `${kind}-${digestOf(kind, name).slice(0, HEX_DIGITS)}`;
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(what, made);
    return made;
  };
  return {
    user: (name) => of("user", name),
    host: (name) => of("host", name.toLowerCase()),
    session: (id) =>
      id >= 0 ? id : -Number.parseInt(digestOf("session", String(id)).slice(0, NUMBER_DIGITS), 16),
  };
}
