import type { Permission } from "../../domain/keys.ts";
import type { PagePath } from "../../domain/words.ts";
import { IS_FLEET } from "../here.ts";
import { mayNot } from "../me.ts";
import type { IconName } from "../parts/marks.tsx";
import { words } from "../words.ts";

/** A page as the header, the palette and the keys know it. */
interface Place {
  readonly path: PagePath | "";
  readonly word: string;
  /** Leads there after `g`. */
  readonly letter: string;
  /** Those with an icon stand at the bottom of a phone, too. */
  readonly icon?: IconName;
  /** Not in the row of the header: the palette and its letter lead there. */
  readonly isAside?: true;
  /** The word there. */
  readonly short?: string;
  /** Other words that people may type for it. */
  readonly also: string;
}

/** The pages that a page with a single subject belongs to. */
export const WITHIN: Readonly<Partial<Record<PagePath | "", PagePath>>> = {
  feature: "features",
  person: "people",
  server: "servers",
};

/** What a page cannot do without. */
const NEEDS: Readonly<Partial<Record<PagePath | "", Permission>>> = {
  people: "holders",
  person: "holders",
  denials: "holders",
  logs: "logs",
};
/** What needs no picture, which a fleet has none of. */
const OF_FLEET: readonly string[] = [
  ...(["", "expiry", "denials", "outages", "history", "alerts", "admin", "logs", "signin"] as const),
];
export const isOfFleet = (path: PagePath | ""): boolean => OF_FLEET.includes(path);

/** False where the page could only say that it is not for the viewer. */
export function isShown(path: PagePath | ""): boolean {
  const needed = NEEDS[path];
  return (needed === undefined || !mayNot(needed)) && (!IS_FLEET || isOfFleet(path));
}

export const PLACES: readonly Place[] = [
  {
    path: "",
    word: IS_FLEET ? words.fleet : words.overview,
    letter: "o",
    icon: "home",
    short: words.home,
    also: "home start dashboard status",
  },
  {
    path: "features",
    word: words.features,
    letter: "f",
    icon: "find20",
    short: words.find,
    also: "licenses seats free products",
  },
  {
    path: "people",
    word: words.people,
    letter: "p",
    icon: "people",
    also: "users hosts holders checkouts who",
  },
  { path: "servers", word: words.serversPage, letter: "s", also: "license managers daemons up down" },
  { path: "expiry", word: words.expiry, letter: "e", also: "expiration renewal calendar dates" },
  { path: "denials", word: words.denials, letter: "d", also: "denied refused rejected requests queue" },
  {
    path: "history",
    word: words.history,
    letter: "h",
    ...(IS_FLEET && { icon: "history" }),
    also: "usage past statistics report",
  },
  { path: "wall", word: words.wall, letter: "w", isAside: true, also: "screen monitor kiosk" },
  {
    path: "alerts",
    word: words.alertsPage,
    letter: "a",
    icon: "alert",
    also: "alarms warnings notifications",
  },
  {
    path: "admin",
    word: words.admin,
    letter: "m",
    isAside: true,
    also: "settings keys sign-ins config database reload backup",
  },
  { path: "logs", word: words.logs, letter: "l", isAside: true, also: "log events messages" },
];
