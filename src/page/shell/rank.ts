import type { Identified } from "../rows.ts";

/** Something that the palette leads to. */
export interface Entry extends Identified {
  readonly kind: "page" | "site" | "action" | "server" | "feature" | "person" | "host";
  readonly name: string;
  /** What tells it from others of the same name; searched, too. */
  readonly detail: string;
  /** Other words that people may type for it. */
  readonly also?: string;
  /** Where it leads; an action does something instead. */
  readonly href?: string;
  readonly act?: () => void;
}

/** Of one kind, so that the many do not hide the few. */
const MOST_OF_KIND = 8;
/** Among equals: what there is less of comes first. */
const KINDS: readonly Entry["kind"][] = ["page", "site", "server", "feature", "person", "host", "action"];

/** How well a word fits, 0 best: it is the name, begins it, begins a part of it, is within it, is in the detail; null = nowhere. */
function fit(name: string, detail: string, word: string): number | null {
  const at = name.indexOf(word);
  if (at === -1) return detail.includes(word) ? 4 : null;
  if (at === 0) return name.length === word.length ? 0 : 1;
  return /[\s_\-./:@]/.test(name[at - 1] ?? "") ? 2 : 3;
}

/** The entries in which all words of the search occur, the best first; pages and actions where there is no search. */
export function ranked(entries: readonly Entry[], search: string): Entry[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return entries.filter(({ kind }) => kind === "page" || kind === "action");
  const found = entries.flatMap((entry) => {
    const [name, detail] = [entry.name.toLowerCase(), `${entry.detail} ${entry.also ?? ""}`.toLowerCase()];
    let score = 0;
    for (const word of words) {
      const fits = fit(name, detail, word);
      if (fits === null) return [];
      score += fits;
    }
    return [{ entry, score, length: name.length }];
  });
  found.sort(
    (a, b) =>
      a.score - b.score ||
      KINDS.indexOf(a.entry.kind) - KINDS.indexOf(b.entry.kind) ||
      a.length - b.length ||
      (a.entry.name < b.entry.name ? -1 : 1),
  );
  const counts = new Map<Entry["kind"], number>();
  return found.flatMap(({ entry }) => {
    const count = (counts.get(entry.kind) ?? 0) + 1;
    counts.set(entry.kind, count);
    return count <= MOST_OF_KIND ? [entry] : [];
  });
}
