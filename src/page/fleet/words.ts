import { number } from "../format.ts";

const plural = (count: number, one: string) => `${number(count)} ${one}${count === 1 ? "" : "s"}`;

/** Texts of the fleet pages. */
export const fleetWords = {
  state: "State of the fleet",
  sites: (connected: number, all: number) =>
    `${connected === all ? (all === 1 ? "The only" : "All") : connected === 0 ? "None of" : `${number(connected)} of`} ${all === 1 ? "site" : plural(all, "site")}`,
  areConnected: (connected: number) => (connected <= 1 ? " is connected" : " are connected"),
  isSilent: (since: string | null) =>
    since === null ? " was never heard from" : ` has been silent since ${since}`,
  isBehind: (lag: string) => ` is ${lag} behind`,
  silent: (count: number) => `${number(count)} silent`,
  behind: (count: number) => `${number(count)} behind`,
  serversUp: "servers up",
  people: "people",
  waiting: "waiting",

  search: "Search sites, features and people",
  hint: "Feature, person, host or site",
  full: "Full",
  nothingFull: "Nothing is full.",
  sitesHead: "Sites",
  siteCount: (count: number) => plural(count, "site"),
  foundFeatures: "Features",
  foundPeople: "People",
  seats: "Seats in use",
  free: "Free",
  columns: {
    site: "Site",
    state: "State",
    heard: "Last contact",
    lag: "Behind",
    servers: "Servers up",
    features: "Features",
    full: "Full",
    alerts: "Alerts",
    expiry: "Expires next",
    version: "Version",
    note: "Note",
  },
  facts: (count: number) => plural(count, "fact"),
  nothingBehind: "nothing",
  critical: "critical",
  warning: "warning",
  info: "info",
  never: "never",
  stopped: "stopped",
  clock: (span: string, isAhead: boolean) => `clock ${span} ${isAhead ? "ahead" : "behind"}`,
  refused: (count: number) => `${plural(count, "fact")} refused`,
  daysLeft: (count: number) => `${plural(count, "day")} of history to come`,

  none: "No site has pushed to this hub yet.",
  addKey: "Create a key for each site here:",
  addSite: "Name this hub at the site, in /etc/licmond/licmond.toml:",
};
