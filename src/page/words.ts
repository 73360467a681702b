import type { PictureFeature } from "../domain/polls/kept-picture.ts";
import type { SiteRecord } from "../domain/service/sites.ts";
import type { Unit } from "../domain/words.ts";
import { number } from "./format.ts";
import type { State } from "./model.ts";

const unitWord = (count: number, unit: Unit = "seats") => (count === 1 ? unit.slice(0, -1) : unit);
/** `1 seat`, `25,000 tokens`. */
const amount = (count: number, unit?: Unit) => `${number(count)} ${unitWord(count, unit)}`;
const persons = (count: number) => `${number(count)} ${count === 1 ? "person" : "people"}`;
/** Of a count that is taken for seats where it says nothing. */
export const unlessSeats = (unit: Unit) => (unit === "seats" ? "" : ` ${unit}`);

/** Every word of the page that is no name and no number. */
export const words = {
  title: (page: string) => `${page} · licmond`,
  skip: "Skip to the content",
  pages: "Pages",
  features: "Features",
  people: "People",
  api: "API",
  apiDocs: "API documentation",
  live: "live",
  connecting: "connecting",
  offline: "offline",
  fleet: "Fleet",
  site: "Site: ",
  allSites: "All sites",
  searchSites: "Search sites",
  silentSince: (site: string, since: string) =>
    `${site} is silent: its hub has heard nothing of it since ${since}. Shown is what was known then.`,
  stoppedAt: (site: string, at: string) => `${site} was stopped at ${at}. Shown is what was known then.`,
  neverHeard: (site: string) => `${site} is silent: its hub has never heard of it.`,
  siteStates: {
    connected: "connected",
    behind: "behind",
    silent: "silent",
  } satisfies Record<SiteRecord["state"], string>,
  reconnecting: "reconnecting",
  everyHalfMinute: "every 30 s",
  noStream:
    "Changes do not come by themselves, perhaps because of a proxy. The page asks for them every 30 s.",
  tooMany: (wait: string) => `Too many requests for this key: it goes on in ${wait}.`,
  newVersion: "licmond was upgraded: this page is of the version before.",
  reload: "Reload",
  loadingPage: "Loading …",
  pageFailed: "This part of the page cannot be loaded.",
  palette: "Search features, people, hosts",
  paletteHint: "Feature, person, host, server, page or action",
  kinds: {
    page: "Page",
    site: "Site",
    action: "Action",
    server: "Server",
    feature: "Feature",
    person: "Person",
    host: "Host",
  },
  changeTheme: "Change the theme",
  keysHead: "Keys",
  keyList: [
    ["Ctrl K", "Search everything"],
    ["/", "Search this list; everything where there is none"],
    ["↓ ↑ j k", "Next row, row before"],
    ["Enter", "Open"],
    ["Esc", "Leave a field, close"],
    ["[ ]", "A shorter, a longer range"],
    ["t", "Theme: system, light, dark"],
    ["?", "This list"],
  ] as const,
  singleKeys: "Single keys do something (Ctrl K always does)",
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
  ofThemStale: (count: number) => `, ${number(count)} of them stale`,
  byName: "One row a name",
  places: (count: number) => `${number(count)} places`,
  chooseColumns: "Columns",
  neverPolled: "not polled yet",
  noFeatures: "no features were read",
  heldAny: "Held: any time",
  heldOver: (hours: string) =>
    hours === "168" ? "Held over 7 d" : hours === "24" ? "Held over 1 d" : `Held over ${hours} h`,
  groupNone: "Group: none",
  groupedBy: (by: string) => `By ${by}`,
  holdsNow: "Has now",
  holdsNothing: "Nothing now.",
  commaName: "The past of a name with a comma cannot be asked for.",
  usedIn90: "Used in 90 days",
  deniedIn90: "Denied in 90 days",
  tellMe: "Tell me when free",
  willNotify: "A notification will tell, while a tab of licmond is open.",
  willRing: "This tab will ring and say so in its title.",
  isFree: (name: string) => `${name} is free`,
  amount,
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
  groupLimit: "group limit",
  groupLimitLong: "Its seat group has no more free seats",
  over: (count: number) => `${number(count)} over`,
  membersUp: (up: number, all: number) => `${up} of ${all}`,

  free: "free",
  inUse: (used: string, total: string, unit: Unit) =>
    [`${used}${unlessSeats(unit)} of ${total}`, " in use"] as const,
  inUseOpen: (used: string, unit: Unit) => [used + unlessSeats(unit), " in use, no limit"] as const,
  sharedWith: (others: number, theirs: number) =>
    `shares its seats with ${number(others)} other${others === 1 ? "" : "s"}${theirs > 0 ? ` that use ${number(theirs)}` : ""}`,
  waitingFor: (people: number, seats: number, unit?: Unit) =>
    [`${number(people)} waiting`, ` for ${amount(seats, unit)}`] as const,
  polledBefore: (age: string) => `polled ${age} ago`,
  readBefore: (age: string) => `read ${age} ago`,
  expires: "expires",
  inDays: (days: number) => (days === 0 ? "today" : days < 0 ? `${-days} d ago` : `in ${days} d`),
  whoHasIt: "Who has it",
  whoWaits: "Waiting",
  reservations: "Reserved",
  nobody: "Nobody has it.",
  nobodyWaits: "Nobody waits.",
  persons,
  peopleSeats: (people: number, seats: number, unit?: Unit) => `${persons(people)}, ${amount(seats, unit)}`,
  assigned: "Assigned",
  openInPeople: "Open in People",
  copyLink: "Copy link",
  copied: "Copied",
  copyBadge: "Copy link of badge",
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
  unitWord,
  units: { seats: "Seats", tokens: "Tokens", credits: "Credits" } satisfies Record<Unit, string>,
  waitsFor: (count: number) => `waits for ${number(count)}`,
  more: (count: number) => `${number(count)} more`,
  overADay: "over 1 day,",

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
  noConfig:
    "licmond runs without a config. Write one with licmond init, add a server at its end, and start licmond with --config:",
  addServer: (config: string | undefined) =>
    config === undefined
      ? "Add one at the end of licmond's config:"
      : `Add one at the end of the config, ${config}:`,
  thenCheck: "Check that it answers, then make licmond read its config again:",
  docs: "All settings are explained in the config that licmond init writes, and in docs/config.md.",
  begins: (message: string) => `New alert: ${message}`,

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
