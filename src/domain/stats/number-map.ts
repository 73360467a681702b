/**
 * Whole numbers, each with the place in which it came: 0, 1, 2 … A Map does the same, but takes several times as long,
 * and there are tens of millions of look-ups in one answer.
 */
export interface NumberMap {
  /** The place of a number from 0 to 2^53 - 1; one that was not there comes last. */
  place(key: number): number;
  readonly size: number;
}

const HALF = 2 ** 32;

export function createNumberMap(): NumberMap {
  let mask = 1023;
  let keys = new Float64Array(mask + 1).fill(-1);
  let places = new Int32Array(mask + 1);
  let size = 0;

  function slotOf(key: number): number {
    const mixed = Math.imul((key | 0) ^ Math.imul((key / HALF) | 0, 0x85ebca6b), 0x9e3779b1);
    let slot = (mixed ^ (mixed >>> 15)) & mask;
    while (keys[slot] !== -1 && keys[slot] !== key) slot = (slot + 1) & mask;
    return slot;
  }

  function widen(): void {
    const [oldKeys, oldPlaces] = [keys, places];
    mask = mask * 2 + 1;
    keys = new Float64Array(mask + 1).fill(-1);
    places = new Int32Array(mask + 1);
    for (let old = 0; old < oldKeys.length; old++) {
      const key = oldKeys[old] ?? -1;
      if (key === -1) continue;
      const slot = slotOf(key);
      keys[slot] = key;
      places[slot] = oldPlaces[old] ?? 0;
    }
  }

  return {
    place(key) {
      const slot = slotOf(key);
      if (keys[slot] === key) return places[slot] ?? 0;
      keys[slot] = key;
      places[slot] = size;
      size++;
      if (size * 2 > mask) widen();
      return size - 1;
    },
    get size() {
      return size;
    },
  };
}
