/**
 * Returns the known word that was probably meant, or null. Up to a third of the letters may differ, or the
 * word may have an extra ending.
 */
export function closestWord(word: string, known: readonly string[]): string | null {
  if (word.length > 64) return null;
  const wanted = word.toLowerCase();
  const near = byDistance(known, (name) => editDistance(wanted, name.toLowerCase())).find(
    ({ name, distance }) => distance <= Math.max(1, Math.floor(name.length / 3)),
  );
  return near?.name ?? known.find((name) => name.length >= 3 && wanted.startsWith(name)) ?? null;
}

/**
 * Returns up to three known names, closest first: names that contain the word, then names that differ from it in
 * at most half of their letters.
 */
export function closestNames(word: string, known: Iterable<string>): string[] {
  const wanted = word.slice(0, 64).toLowerCase();
  const distanceTo = (name: string) =>
    wanted !== "" && name.toLowerCase().includes(wanted) ? 0 : editDistance(wanted, name.toLowerCase());
  return byDistance(known, distanceTo)
    .filter(({ name, distance }) => distance <= Math.max(wanted.length, name.length) / 2)
    .slice(0, 3)
    .map(({ name }) => name);
}

/** Returns a sentence with a leading space that lists quoted names; an empty text without names. */
export function closestSentence(quoted: readonly string[]): string {
  if (quoted.length === 0) return "";
  const list = quoted.join(", ");
  return quoted.length === 1 ? ` The closest name is ${list}.` : ` The closest names are ${list}.`;
}

function byDistance(names: Iterable<string>, distanceTo: (name: string) => number) {
  return Array.from(names, (name) => ({ name, distance: distanceTo(name) })).sort(
    (a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1),
  );
}

/** Counts insertions, deletions, replacements and swaps (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1])
        cost = Math.min(cost, (beforeLast[column - 2] ?? 0) + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}
