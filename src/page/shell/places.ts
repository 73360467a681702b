import type { PagePath } from "../../domain/words.ts";
import { daily } from "../daily/words.ts";
import type { IconName } from "../parts/marks.tsx";
import { words } from "../words.ts";
import { past } from "../words-past.ts";

/** A page as the header, the palette and the keys know it. */
interface Place {
  readonly path: PagePath | "";
  readonly word: string;
  /** Leads there after `g`. */
  readonly letter: string;
  /** Those with an icon stand at the bottom of a phone, too. */
  readonly icon?: IconName;
  /** The word there. */
  readonly short?: string;
}

export const PLACES: readonly Place[] = [
  { path: "", word: daily.overview, letter: "o", icon: "home", short: daily.home },
  { path: "features", word: words.features, letter: "f", icon: "find20", short: daily.find },
  { path: "people", word: words.people, letter: "p", icon: "people" },
  { path: "servers", word: daily.serversPage, letter: "s" },
  { path: "expiry", word: past.expiry, letter: "e" },
  { path: "denials", word: past.denials, letter: "d" },
  { path: "history", word: past.history, letter: "h" },
  { path: "alerts", word: daily.alertsPage, letter: "a", icon: "alert" },
];
