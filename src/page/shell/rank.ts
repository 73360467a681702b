import type { Identified } from "../rows.ts";

export interface Entry extends Identified {
  readonly kind: "page" | "site" | "action" | "server" | "feature" | "person" | "host";
  readonly name: string;
  /** Text that distinguishes entries of one name. The search also looks at this text. */
  readonly detail: string;
  readonly also?: string;
  readonly href?: string;
  readonly act?: () => void;
}

/** Maximum number of entries per kind, so that frequent kinds do not hide rare ones. */
const MOST_OF_KIND = 8;
/** Order of the kinds among equal matches, rare kinds first. */
const KINDS: readonly Entry["kind"][] = ["page", "site", "server", "feature", "person", "host", "action"];

/** Ranks a match: 0 equal, 1 at the start, 2 at the start of a part, 3 inside, 4 in the detail, null = no match. */
function fit(name: string, detail: string, word: string): number | null {
  const at = name.indexOf(word);
  if (at === -1) return detail.includes(word) ? 4 : null;
  if (at === 0) return name.length === word.length ? 0 : 1;
  return /[\s_\-./:@]/.test(name[at - 1] ?? "") ? 2 : 3;
}

/** Returns entries that match all words, best first. Without a search, returns pages and actions. */
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
