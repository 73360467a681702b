import type { PictureFeature } from "../domain/polls/kept-picture.ts";
import type { SiteRecord } from "../domain/service/sites.ts";
import type { Unit } from "../domain/words.ts";
import { number } from "./format.ts";

export const unitWord = (count: number, unit: Unit = "seats") => (count === 1 ? unit.slice(0, -1) : unit);
/** Formats `1 seat`, `25,000 tokens`. */
export const amount = (count: number, unit?: Unit) => `${number(count)} ${unitWord(count, unit)}`;
/** Unit of a count, empty for seats. */
export const unlessSeats = (unit: Unit) => (unit === "seats" ? "" : ` ${unit}`);

/** Texts of the header and the overview; `words-pages.ts` has those of other pages. */
export const words = {
  title: (page: string) => `${page} · licmond`,
  skip: "Skip to the content",
  pages: "Pages",
  features: "Features",
  people: "People",
  api: "API",
  live: "live",
  connecting: "connecting",
  offline: "offline",
  fleet: "Fleet",
  site: "Site: ",
  allSites: "All sites",
  silentSince: (site: string, since: string) =>
    `${site} is silent: last contact with the hub ${since}. Showing the last known data.`,
  stoppedAt: (site: string, at: string) => `${site} was stopped at ${at}. Showing the last known data.`,
  neverHeard: (site: string) => `${site} is silent: the hub has never heard from it.`,
  siteStates: {
    connected: "connected",
    behind: "behind",
    silent: "silent",
  } satisfies Record<SiteRecord["state"], string>,
  reconnecting: "reconnecting",
  everyHalfMinute: "every 30 s",
  noStream: "Live updates do not get through, perhaps because of a proxy. The page refreshes every 30 s.",
  tooMany: (wait: string) => `Too many requests for this key: retrying in ${wait}.`,
  newVersion: "licmond was upgraded; this page is from the previous version.",
  reload: "Reload",
  loadingPage: "Loading …",
  notRead: "Cannot be loaded",
  notForYou: "Your role may not see this",
  logging: { on: "", off: "log_file is not set", unreadable: "The debug log cannot be read" },
  unnamed: (daemon: string) => `${daemon}, counted without names`,
  pageFailed: "This part of the page cannot be loaded.",
  palette: "Search features, people, hosts",
  close: "Close",
  pollOld: "since the last poll",
  disconnectedSince: (since: string) => `Disconnected since ${since}`,
  lastKnown: "Showing the last known data.",
  asOf: (time: string) => `as of ${time}`,
  printed: (at: string) => `printed ${at}`,
  loading: "Loading the picture of the license servers …",
  stillLoading: (kilobytes: string) => `Still loading, ${kilobytes} KB`,
  failed: "The picture cannot be read",
  requestId: (id: string) => `Request ${id}`,
  tryAgain: "Try again",
  noPeople: "People are not shown here.",
  wall: "Wall",
  themes: { system: "Theme: system", light: "Theme: light", dark: "Theme: dark" },
  signOut: "Sign out",

  signIn: "Sign in",
  unreachable: "licmond does not answer. Check that it runs and that the network works.",
  tellMe: "Tell me when free",
  willNotify: "You get a notification while a tab of licmond is open.",
  willRing: "This tab plays a sound and changes its title.",
  isFree: (name: string) => `${name} is free`,
  amount,
  notKnown: "not known",
  waiting: (count: number) => `+${number(count)} waiting`,
  reserved: (count: number) => `${number(count)} reserved`,
  expired: "expired",
  old: (age: string) => `${age} old`,
  failedState: "failed",
  shared: "shared seats",
  groupLimit: "group limit",
  groupLimitLong: "Its seat group has no further free seats",
  over: (count: number) => `${number(count)} over`,
  inUse: (used: string, total: string, unit: Unit) =>
    [`${used}${unlessSeats(unit)} of ${total}`, " in use"] as const,
  inUseOpen: (used: string, unit: Unit) => [used + unlessSeats(unit), " in use, no limit"] as const,
  inDays: (days: number) => (days === 0 ? "today" : days < 0 ? `${-days} d ago` : `in ${days} d`),
  copyLink: "Copy link",
  copied: "Copied",

  history: "History",
  denials: "Denials",
  expiry: "Expiry",
  outages: "Outages",

  overview: "Overview",
  serversPage: "Servers",
  alertsPage: "Alerts",
  admin: "Administration",
  logs: "Logs",
  noLogs: "The log names people: keys with pseudonyms and visitors without a key cannot read it.",
  home: "Home",
  find: "Find",
  morePages: "More",
  firingWord: "firing",
  begins: (message: string) => `New alert: ${message}`,
} as const;

/** Describes a seat bar for screen readers. */
export function seatsInWords({
  total,
  used,
  unlimited,
  reserved,
  queued,
  state,
  unit = "seats",
}: Pick<PictureFeature, "total" | "used" | "unlimited" | "reserved" | "queued" | "state"> & {
  readonly unit?: Unit;
}): string {
  if (used === null) return words.notKnown;
  const parts = [
    unlimited
      ? words.inUseOpen(number(used), unit).join("")
      : words.inUse(number(used), number(total ?? 0), unit).join(""),
    ...((reserved ?? 0) > 0 ? [words.reserved(reserved ?? 0)] : []),
    ...((queued ?? 0) > 0 ? [`${number(queued ?? 0)} waiting`] : []),
    ...(state === "stale" ? ["stale"] : []),
  ];
  return parts.join(", ");
}
