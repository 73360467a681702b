import { createNumberMap } from "./number-map.ts";

/** Pairs of small ids, each with the place in which it came: 0, 1, 2 … */
export interface PairPlaces {
  place(one: number, two: number): number;
  /** The pair at a place. */
  pair(place: number): readonly [one: number, two: number];
}

/** Ids are below this. */
const KEY = 2 ** 26;
/** A table of so many pairs at most: beyond that a map takes less. */
const MOST_PAIRS = 2 ** 22;

/** `ones` and `twos`: how many there are, about; pairs of ids below that are the fastest. */
export function createPairPlaces(ones: number, twos: number): PairPlaces {
  const places = createNumberMap();
  const keys: number[] = [];
  /** Places of pairs, and 1. */
  const table = new Int32Array(ones * twos <= MOST_PAIRS ? ones * twos : 0);

  function search(one: number, two: number): number {
    const key = one * KEY + two;
    const place = places.place(key);
    if (place === keys.length) keys.push(key);
    return place;
  }
  return {
    place(one, two) {
      if (one >= ones || two >= twos || table.length === 0) return search(one, two);
      const at = one * twos + two;
      const known = table[at] ?? 0;
      if (known > 0) return known - 1;
      const place = search(one, two);
      table[at] = place + 1;
      return place;
    },
    pair(place) {
      const key = keys[place] ?? 0;
      return [Math.floor(key / KEY), key % KEY];
    },
  };
}
