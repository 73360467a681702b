import type { KeptServer } from "../domain/polls/kept-picture.ts";
import { type FeatureRow, type HolderRow, kept, keyOf, labelsOf, nameOf, personOf } from "./model.ts";

export type Filter = Readonly<{ search: string; server: string | null; label: string | null }>;

/**
 * Matches rows with all words in the name, daemon, server, or a user or host that holds the feature or
 * waits for it. `server:eda` and `free:0` match a server and a number of free seats; names that contain
 * such a word match too.
 */
export function matching(rows: readonly FeatureRow[], { search, server, label }: Filter): FeatureRow[] {
  const tests = search.toLowerCase().split(/\s+/).filter(Boolean).map(testOf);
  return rows.filter((row) => {
    if (server !== null && row.server.id !== server) return false;
    if (label !== null && !labelsOf(row.server).includes(label)) return false;
    return tests.every((test) => test(row));
  });
}

function testOf(word: string): (row: FeatureRow) => boolean {
  const [, name, value = ""] = /^(server|free):(.+)$/.exec(word) ?? [];
  const ofServer = new Map<KeptServer, { readonly isNamed: boolean; readonly held: ReadonlySet<string> }>();
  const look = (server: KeptServer) => {
    const { id } = server;
    const isNamed =
      `${id}\n${server.name}`.toLowerCase().includes(word) ||
      (name === "server" && id.toLowerCase() === value);
    const held = heldBy(server, word);
    const seen = { isNamed, held };
    ofServer.set(server, seen);
    return seen;
  };
  return ({ server, key, facts, free }) => {
    if (facts.text.includes(word) || (name === "free" && String(free) === value)) return true;
    const { isNamed, held } = ofServer.get(server) ?? look(server);
    return isNamed || held.has(key);
  };
}

/** Lower-case texts of a server's people. `all` joins them, to rule out a word in one comparison. */
const personsOf = kept(({ rows }: KeptServer) => {
  const texts = [...rows.values()].map(personOf);
  return { texts, all: texts.join("\n"), features: [...rows.values()].map(keyOf) };
});

/** Returns keys of features held or requested by someone whose name or host has the word. */
function heldBy(server: KeptServer, word: string): ReadonlySet<string> {
  const { texts, all, features } = personsOf(server);
  const held = new Set<string>();
  if (all.includes(word))
    for (const [at, text] of texts.entries()) if (text.includes(word)) held.add(features[at] ?? "");
  return held;
}

interface HolderFilter {
  readonly search: string;
  readonly server: string | null;
  readonly feature: string | null;
  readonly before?: number | null;
}

/** Returns holders and waiting requests that match all words; `feature` is the id of one feature. */
export function matchingHolders(
  rows: readonly HolderRow[],
  { search, server, feature, before = null }: HolderFilter,
): HolderRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    if (
      row.kind === "reservation" ||
      row.kind === "assigned" ||
      (server !== null && row.server.id !== server)
    )
      return false;
    if (feature !== null && `${row.server.id} ${row.feature}` !== feature) return false;
    if (before !== null && (row.kind !== "checkout" || row.since === null || row.since > before))
      return false;
    if (words.length === 0) return true;
    const text = [row.user, row.host, nameOf(row), row.server.id, row.server.name].join("\n").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
