/**
 * All randomness is a hash of keys (seed, server, person, day …), so any instant can be computed on its own.
 */

type Key = string | number;

/** Returns a 32-bit hash of the keys: FNV-1a of their text, then the finalizer of MurmurHash3. */
export function hash(...keys: readonly Key[]): number {
  let bits = 0x811c9dc5;
  for (const key of keys) {
    const text = typeof key === "number" ? `#${key}` : key;
    for (let index = 0; index < text.length; index++) {
      bits = Math.imul(bits ^ text.charCodeAt(index), 0x01000193);
    }
    // Separates keys, so that ("ab", "c") differs from ("a", "bc").
    bits = Math.imul(bits ^ 0x1f, 0x01000193);
  }
  return mix(bits) >>> 0;
}

export function draws(...keys: readonly Key[]) {
  let state = hash(...keys);
  const next = () => {
    state = (state + 0x9e3779b9) | 0;
    return (mix(state) >>> 0) / 0x1_0000_0000;
  };
  return {
    /** Returns a number in [from, to). */
    between: (from: number, to: number) => from + next() * (to - from),
    /** Returns an integer in [from, to]. */
    integer: (from: number, to: number) => from + Math.floor(next() * (to - from + 1)),
    chance: (probability: number) => next() < probability,
    pick: <T>(list: readonly [T, ...T[]]): T => list[Math.floor(next() * list.length)] ?? list[0],
  };
}

function mix(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
