import { createNumberMap } from "./number-map.ts";

/** How many users each of many groups has. */
export interface UserSets {
  add(group: number, user: number): void;
  size(group: number): number;
}

/** Bits of all groups together: beyond that a set takes less. */
const MOST_WORDS = 2 ** 24;
const KEY = 2 ** 26;

/** `users`: how many there are, about; ids below that are the fastest. */
export function createUserSets(users: number): UserSets {
  const words = (users >>> 5) + 1;
  let bits = new Uint32Array(1024 * words < MOST_WORDS ? 1024 * words : words);
  const others = createNumberMap();
  const sizes: number[] = [];

  return {
    add(group, user) {
      const word = group * words + (user >>> 5);
      if (user >>> 5 < words && word < MOST_WORDS) {
        if (word >= bits.length) {
          const wider = new Uint32Array(Math.max(word + 1, 2 * bits.length));
          wider.set(bits);
          bits = wider;
        }
        const before = bits[word] ?? 0;
        const bit = 1 << (user & 31);
        if ((before & bit) !== 0) return;
        bits[word] = before | bit;
      } else {
        const known = others.size;
        others.place(group * KEY + user);
        if (others.size === known) return;
      }
      sizes[group] = (sizes[group] ?? 0) + 1;
    },
    size: (group) => sizes[group] ?? 0,
  };
}
