import type { PictureFeature } from "../domain/polls/kept-picture.ts";
import { number } from "./format.ts";
import type { State } from "./model.ts";

/** Every word of the page that is no name and no number. */
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
  pollOld: "since the last poll",
  notLive: (since: string) => `Not live since ${since}. Shown is what was known then.`,
  stillLoading: "Loading the picture of the license servers …",
  failed: "The picture cannot be read",
  requestId: (id: string) => `Request ${id}`,
  tryAgain: "Try again",
  themes: { system: "Theme: as the system", light: "Theme: light", dark: "Theme: dark" },
  signOut: "Sign out",

  signIn: "Sign in",
  signInHead: "Sign in with your key",
  key: "Key",
  stay: "Stay signed in on this browser for 30 days",
  noKey: "No key?",
  whoMakesKeys: "Your license administrator makes one, or sends you a link that signs you in once.",
  onTheServer: "On the server:",
  hostAlone: "This page works with cookies of this host alone.",
  keyRefused: "This key is not taken. It may be mistyped, expired or revoked.",
  codeRefused:
    "This link was used already, or is older than 10 minutes. Ask for another one, or sign in with a key.",
  unreachable: "licmond does not answer. Is it running, and is the network there?",

  searchFeatures: "Search features",
  searchHint: "Feature, person, host or server",
  searchTry: "try  server:eda  or  free:0",
  filters: "Filters",
  all: "All",
  states: {
    full: "Full",
    nearly: "Nearly full",
    waiting: "Waiting",
    expiring: "Expiring",
    stale: "Stale",
    partial: "Partial",
  } satisfies Record<State, string>,
  anyServer: "Server: any",
  anyLabel: "Label: any",
  server: (id: string) => `Server: ${id}`,
  label: (label: string) => `Label: ${label}`,
  csv: "CSV",
  changes: (count: number) => `${number(count)} ${count === 1 ? "change" : "changes"}: sort again`,
  featureCount: (count: number) => `${number(count)} ${count === 1 ? "feature" : "features"}`,
  columns: {
    name: "Feature",
    server: "Server",
    daemon: "Daemon",
    seats: "Seats",
    note: "Note",
    used: "In use",
    free: "Free",
    peak: "Peak 24 h",
    denied: "Denied 24 h",
    feature: "Feature",
    expires: "Expires",
    age: "Age",
    user: "User",
    host: "Host",
    count: "Seats",
    since: "Since",
    held: "Held",
    waits: "Waits",
  },
  noMatch: "Nothing matches.",
  onlyFeature: (name: string) => `Feature: ${name}`,
  clear: "Clear the filters",
  noServers: "No license server is configured.",
  noLimit: "no limit",
  notKnown: "not known",
  waiting: (count: number) => `+${number(count)} waiting`,
  reserved: (count: number) => `${number(count)} reserved`,
  atLeast: (count: number) => `≥ ${number(count)}`,
  expired: "expired",
  permanent: "permanent",
  old: (age: string) => `${age} old`,
  failedState: "failed",
  partialState: "partial",
  shared: "shared seats",
  over: (count: number) => `${number(count)} over`,
  membersUp: (up: number, all: number) => `${up} of ${all}`,

  free: "free",
  inUse: (used: string, total: string) => [`${used} of ${total}`, " in use"] as const,
  inUseOpen: (used: string) => [used, " in use, no limit"] as const,
  waitingFor: (people: number, seats: number) =>
    [`${number(people)} waiting`, ` for ${number(seats)} ${seats === 1 ? "seat" : "seats"}`] as const,
  polledBefore: "polled",
  readBefore: "read",
  ago: "ago",
  expires: "expires",
  inDays: (days: number) => (days === 0 ? "today" : days < 0 ? `${-days} d ago` : `in ${days} d`),
  whoHasIt: "Who has it",
  whoWaits: "Waiting",
  reservations: "Reserved",
  nobody: "Nobody has it.",
  nobodyWaits: "Nobody waits.",
  peopleSeats: (people: number, seats: number) =>
    `${number(people)} ${people === 1 ? "person" : "people"}, ${number(seats)} ${seats === 1 ? "seat" : "seats"}`,
  openInPeople: "Open in People",
  copyLink: "Copy link",
  copied: "Copied",
  noSuchFeature: "There is no such feature now.",
  allFeatures: "All features",
  /** `covered`: percent of the time in which the server was read. */
  waits: (covered: number, count: number, half: string | null, most: string | null) =>
    `In 30 days${covered < 99 ? `, of which ${covered} % are known,` : ""} it was full ${count === 1 ? "once" : `${number(count)} times`}.` +
    (half === null || most === null
      ? ""
      : ` Half of the waits were over within ${half}, 8 of 10 within ${most}.`),
  seatsInUse: "Seats in use",
  seatsWaited: "Seats waited for",
  seats: (count: number) => `${number(count)} seats`,
  waitsFor: (count: number) => `waits for ${number(count)}`,
  more: (count: number) => `${number(count)} more`,
  overADay: "over 1 day,",

  searchPeople: "Search people",
  searchPeopleHint: "Person, host, feature or server",
  kind: "State",
  waitsNow: "waits",
} as const;

/** A seat bar for those who do not see it. */
export function seatsInWords({
  total,
  used,
  unlimited,
  reserved,
  queued,
  state,
}: Pick<PictureFeature, "total" | "used" | "unlimited" | "reserved" | "queued" | "state">): string {
  if (used === null) return words.notKnown;
  const parts = [
    unlimited
      ? words.inUseOpen(number(used)).join("")
      : words.inUse(number(used), number(total ?? 0)).join(""),
    ...((reserved ?? 0) > 0 ? [words.reserved(reserved ?? 0)] : []),
    ...((queued ?? 0) > 0 ? [`${number(queued ?? 0)} waiting`] : []),
    ...(state === "stale" ? ["stale"] : []),
  ];
  return parts.join(", ");
}
