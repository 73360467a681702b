import { countOf, escapeControls } from "../../domain/plain-text.ts";
import { span } from "../../domain/time/clock.ts";
import type { Site } from "../client/watch-picture.ts";
import { cutTo } from "../terminal.ts";
import { FEATURE_HEADS, featureRow } from "./features.ts";
import { featuresOf, type LiveFeature, painted, RED, tableLines } from "./output.ts";

/** State of `top`. Pure, so tests need no terminal. */
export interface View {
  readonly sort: keyof typeof SORTS;
  readonly isReversed: boolean;
  readonly filter: (typeof FILTERS)[number];
  /** Part of the names of features and servers; case-insensitive. */
  readonly search: string;
  readonly isTyping: boolean;
  /** Features above the first line. */
  readonly offset: number;
}

const UNSEARCHED = { filter: "all", search: "", isTyping: false } as const;
export const FIRST_VIEW: View = { sort: "use", isReversed: false, ...UNSEARCHED, offset: 0 };

const FILTERS = ["all", "in use", "full", "not ok"] as const;

const most = (value: number | null) => (value === null ? Infinity : -value);
const least = (value: number | null) => value ?? Infinity;
/** Sort keys, ascending; unknown values last. */
const SORTS = {
  use: (feature: LiveFeature) => most(feature.utilization),
  waiting: (feature: LiveFeature) => most(feature.queued),
  free: (feature: LiveFeature) => least(feature.available),
  expiry: (feature: LiveFeature) => least(feature.expiresAt === null ? null : Date.parse(feature.expiresAt)),
  name: (feature: LiveFeature) => feature.name,
};
const SORT_KEYS = new Map(Object.keys(SORTS).map((name) => [name[0], name as View["sort"]]));
const KEYS = "q quit  / search  a filter  by u use w waiting f free e expiry n name  r reverse";

/** Returns the features that a view shows, in its order. Equal ranks keep the servers' order. */
export function shownFeatures(site: Site, { sort, isReversed, filter, search }: View): LiveFeature[] {
  const part = search.toLowerCase();
  const found = featuresOf(site, ({ name, available, used, state }, server) => {
    if (filter === "full" && (available === null || available > 0)) return false;
    if (filter === "in use" && (used ?? 0) === 0) return false;
    if (filter === "not ok" && state === "ok") return false;
    return part === "" || name.toLowerCase().includes(part) || server.toLowerCase().includes(part);
  });
  // Ten times faster than sorting all features: there are few distinct ranks.
  const groups = Map.groupBy<number | string, LiveFeature>(found, SORTS[sort]);
  const ranks = [...groups.keys()].sort((a, b) => (isReversed === a < b ? 1 : -1));
  return ranks.flatMap((rank) => groups.get(rank) ?? []);
}

/** Cursor keys (xterm, both cursor modes) and the number of lines they scroll, for a page of the given size. */
const STEPS: Readonly<Record<string, (page: number) => number>> = {
  "[A": () => -1,
  "[B": () => 1,
  "[5~": (page) => -page,
  "[6~": (page) => page,
  "[H": () => -Infinity,
  "[F": () => Infinity,
};

/** Returns the view after a key; `quit` exits. `page`: lines of the list on the screen; `count`: features in it. */
export function afterKey(view: View, key: string, page: number, count: number): View | "quit" {
  if (key === "\u0003") return "quit";
  if (view.isTyping) {
    if (key === "\r") return { ...view, isTyping: false };
    if (key === "\u001b") return { ...view, isTyping: false, search: "" };
    if (key === "\u007f") return { ...view, search: [...view.search].slice(0, -1).join("") };
    return /\p{Cc}/u.test(key) ? view : { ...view, search: view.search + key, offset: 0 };
  }
  const step = key.startsWith("\u001b") ? STEPS[key.slice(1).replace("O", "[")] : undefined;
  if (step !== undefined)
    return { ...view, offset: Math.max(0, Math.min(view.offset + step(page), count - page)) };
  const top = { ...view, offset: 0 };
  const sort = SORT_KEYS.get(key);
  if (sort !== undefined) return { ...top, sort };
  if (key === "q") return "quit";
  if (key === "r") return { ...top, isReversed: !view.isReversed };
  if (key === "/") return { ...top, isTyping: true, search: "" };
  if (key === "\u001b") return { ...top, search: "", filter: "all" };
  if (key !== "a") return view;
  return { ...top, filter: FILTERS[(FILTERS.indexOf(view.filter) + 1) % FILTERS.length] ?? "all" };
}

/** Lines around the list: two above, the column heads, and one below. */
export const FRAME_LINES = 4;

export interface Shown {
  readonly site: Site;
  readonly features: readonly LiveFeature[];
  /** Reason why the data is not live; null while it is. */
  readonly lost: string | null;
  readonly now: number;
  readonly size: { readonly columns: number; readonly rows: number };
  readonly colour: boolean;
}

export function frame(view: View, { site, features, lost, now, size, colour }: Shown): string[] {
  const { columns, rows } = size;
  const servers = [...site.values()];
  const counts = Map.groupBy(servers, ({ status }) => status);
  const states = [...counts].map(([status, { length }]) => `${length} ${status}`).join(", ");
  const ages = servers.flatMap(({ enabled, collectedAt: at }) =>
    enabled && at !== null ? [now - Date.parse(at)] : [],
  );
  const read = ages.length === 0 ? "" : `, read up to ${span(Math.max(...ages))} ago`;
  const { sort, isReversed, filter, search, isTyping } = view;
  const found = search === "" ? "" : `, named "${search}"`;
  const fitting = (line: string) => cutTo(escapeControls(line), columns);
  const live = fitting(`licmond  ${lost === null ? "live" : `NOT LIVE: ${lost}`}  servers: ${states}${read}`);
  const list = `${countOf(features.length, "feature")}: ${filter}${found}, by ${sort}${isReversed ? " reversed" : ""}`;
  const page = Math.max(1, rows - FRAME_LINES);
  const offset = Math.max(0, Math.min(view.offset, features.length - page));
  const shown = features.slice(offset, offset + page).map((feature) => featureRow(feature, now));
  const table = tableLines(FEATURE_HEADS, shown, columns, colour);
  const lines = [colour && lost !== null ? painted(live, RED) : live, fitting(list), ...table];
  while (lines.length < rows - 1) lines.push("");
  return [...lines.slice(0, rows - 1), fitting(isTyping ? `/${search}_` : KEYS)];
}
