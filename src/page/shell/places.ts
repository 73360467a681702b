import type { Permission } from "../../domain/keys.ts";
import type { PagePath } from "../../domain/words.ts";
import { mayNot } from "../api.ts";
import { IS_FLEET } from "../here.ts";
import type { IconName } from "../parts/marks.tsx";

interface Place {
  readonly path: PagePath | "";
  readonly word: string;
  readonly letter: string;
  /** Icon of the place. Places with an icon are also in the bar at the bottom of a phone. */
  readonly icon?: IconName;
  /** True for places that are not in the header but opened from the palette or by their letter. */
  readonly isAside?: true;
  readonly short?: string;
  readonly also: string;
}

export const WITHIN: Readonly<Partial<Record<PagePath | "", PagePath>>> = {
  feature: "features",
  person: "people",
  server: "servers",
};

const NEEDS: Readonly<Partial<Record<PagePath | "", Permission>>> = {
  people: "holders",
  person: "holders",
  denials: "holders",
  logs: "logs",
};
/** Pages of a fleet, which need no picture. */
const OF_FLEET: readonly string[] = [
  ...(["", "expiry", "denials", "outages", "history", "alerts", "admin", "logs", "signin"] as const),
];
export const isOfFleet = (path: PagePath | ""): boolean => OF_FLEET.includes(path);

/** Reports whether the page exists here and the viewer may see its content. */
export function isShown(path: PagePath | ""): boolean {
  const needed = NEEDS[path];
  return (needed === undefined || !mayNot(needed)) && (!IS_FLEET || isOfFleet(path));
}

export const PLACES: readonly Place[] = [
  {
    path: "",
    word: IS_FLEET ? "Fleet" : "Overview",
    letter: "o",
    icon: "home",
    short: "Home",
    also: "home start dashboard status",
  },
  {
    path: "features",
    word: "Features",
    letter: "f",
    icon: "find20",
    short: "Find",
    also: "licenses seats free products",
  },
  { path: "people", word: "People", letter: "p", icon: "people", also: "users hosts holders checkouts who" },
  { path: "servers", word: "Servers", letter: "s", also: "license managers daemons up down" },
  { path: "expiry", word: "Expiry", letter: "e", also: "expiration renewal calendar dates" },
  { path: "denials", word: "Denials", letter: "d", also: "denied refused rejected requests queue" },
  {
    path: "history",
    word: "History",
    letter: "h",
    ...(IS_FLEET && { icon: "history" }),
    also: "usage past statistics report",
  },
  { path: "wall", word: "Wall", letter: "w", isAside: true, also: "screen monitor kiosk" },
  { path: "alerts", word: "Alerts", letter: "a", icon: "alert", also: "alarms warnings notifications" },
  {
    path: "admin",
    word: "Administration",
    letter: "m",
    isAside: true,
    also: "settings keys sign-ins config database reload backup",
  },
  { path: "logs", word: "Logs", letter: "l", isAside: true, also: "log events messages" },
];
