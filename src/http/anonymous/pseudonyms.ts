/** Names for people and their machines that tell nothing of the real ones, and are the same every time. */
export interface Pseudonyms {
  user(name: string): string;
  /** Hosts are the same in any case, as everywhere. */
  host(name: string): string;
  display(name: string): string;
}

/** 64 bits: among a million names the odds of two that share one are 1 in 40 million. */
const HEX_DIGITS = 16;
/** Names kept; a site has far fewer. */
const MAX_KEPT = 100_000;

/**
 * HMAC-SHA256 of the kind and the name under a secret of the installation. Without the secret nobody can try names
 * one by one, which a plain hash would allow.
 */
export function createPseudonyms(secret: Uint8Array): Pseudonyms {
  const kept = new Map<string, string>();
  const of = (kind: keyof Pseudonyms, name: string): string => {
    const what = `${kind}\0${name}`;
    const known = kept.get(what);
    if (known !== undefined) return known;
    const digest = new Bun.CryptoHasher("sha256", secret).update(what).digest("hex");
    const made = `${kind}-${digest.slice(0, HEX_DIGITS)}`;
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(what, made);
    return made;
  };
  return {
    user: (name) => of("user", name),
    host: (name) => of("host", name.toLowerCase()),
    display: (name) => of("display", name),
  };
}
