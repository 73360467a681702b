import { siteOf } from "../../domain/server.ts";
import type { SiteRecord } from "../../domain/service/sites.ts";
import { get, mayNot } from "../api.ts";
import { allFeatures, allHolders, countedRows, type Site } from "../model.ts";
import { ALL } from "../parts/figure.tsx";
import { isReportShown, REPORTS } from "../parts/past-head.tsx";
import { isOfNoSite, linkTo, page } from "../router.ts";
import { amount } from "../words.ts";
import { nextTheme, overlay, signOut } from "./actions.ts";
import { isShown, PLACES, WITHIN } from "./places.ts";
import type { Entry } from "./rank.ts";

/** Leave out reports that are places already. */
const ASIDE = REPORTS.filter(
  ({ path }) => !PLACES.some((place) => place.path === path && path !== "history"),
);
const pages = (): Entry[] => [
  ...PLACES.filter(({ path }) => isShown(path)).map(
    ({ path, word, letter, also }): Entry => ({
      id: `page ${path}`,
      kind: "page",
      name: word,
      detail: `g ${letter}`,
      also,
      href: linkTo(path),
    }),
  ),
  ...ASIDE.filter(({ path, report }) => isShown(path) && isReportShown(report)).map(
    ({ path, report, word, also }): Entry => ({
      id: `page ${word}`,
      kind: "page",
      name: word,
      detail: "History",
      also,
      href: linkTo(path, report && { report }),
    }),
  ),
];
const actions: readonly (readonly [name: string, detail: string, also: string, act: () => void])[] = [
  ["API documentation", "", "api help swagger openapi rest curl", () => location.assign("./swagger")],
  [
    "Keys",
    "?",
    "help keyboard shortcuts",
    () => {
      overlay.value = "keys";
    },
  ],
  ["Change the theme", "t", "dark light colours", nextTheme],
  ["Sign out", "", "log out", () => void signOut()],
];
const ACTIONS = actions.map(
  ([name, detail, also, act]): Entry => ({ id: `action ${name}`, kind: "action", name, detail, also, act }),
);

function holdersOf(site: Site, kind: "person" | "host"): Entry[] {
  const all = new Map<string, { seats: number; other: string | null }>();
  for (const row of countedRows(allHolders(site))) {
    const name = kind === "person" ? row.user : row.host;
    if (name === null) continue;
    const seats = row.kind === "checkout" && row.unit === "seats" ? row.count : 0;
    const before = all.get(name);
    if (before === undefined) all.set(name, { seats, other: kind === "person" ? row.host : row.user });
    else before.seats += seats;
  }
  return [...all].map(([name, { seats, other }]) => ({
    id: `${kind} ${name}`,
    kind,
    name,
    detail: [other, amount(seats)].filter(Boolean).join(", "),
    href: linkTo("person", { [kind === "person" ? "user" : "host"]: name }),
  }));
}

/** The other sites of the fleet: the same page there, and all sites together. */
export function siteEntries(sites: readonly SiteRecord[]): readonly Entry[] {
  const here = page.peek();
  const path = isOfNoSite(here) ? "" : (WITHIN[here] ?? here);
  const all = { id: "site", kind: "site", name: "All sites", detail: "", href: "./" } as const;
  const others = sites.map(
    ({ site, state, labels }): Entry => ({
      id: `site ${site}`,
      kind: "site",
      name: site,
      detail: [state, ...Object.values(labels)].join(", "),
      href: linkTo(path, { site }),
    }),
  );
  return [all, ...others];
}

export function entriesOf(site: Site): readonly Entry[] {
  const servers = [...site.values()].map(
    ({ id, name }): Entry => ({
      id: `server ${id}`,
      kind: "server",
      name: id,
      detail: name,
      href: linkTo("server", { id }),
    }),
  );
  const features = allFeatures(site).map(
    ({ id, server, feature: { daemon, name } }): Entry => ({
      id: `feature ${id}`,
      kind: "feature",
      name,
      detail: `${server.id} ${daemon}`,
      href: linkTo("feature", { server: server.id, daemon, name }),
    }),
  );
  const people = [...holdersOf(site, "person"), ...holdersOf(site, "host")];
  return [...pages(), ...ACTIONS, ...servers, ...features, ...people];
}

export async function fleetServers(): Promise<readonly Entry[]> {
  const { servers } = await get("/api/licenses/servers", ALL);
  return servers.map(({ id }) => ({
    id: `server ${id}`,
    kind: "server",
    name: id,
    detail: "",
    href: linkTo("server", { id }),
  }));
}

/** Features and people of all sites whose names contain a text, from the hub. */
export async function fleetEntries(search: string, signal: AbortSignal): Promise<readonly Entry[]> {
  const asked = { search, limit: "20" };
  const [{ features }, { users }] = await Promise.all([
    get("/api/licenses/features", asked, signal),
    mayNot("holders") ? { users: [] } : get("/api/licenses/users", asked, signal),
  ]);
  const found = new Map<string, Entry>();
  for (const { server, daemon, name } of features) {
    const id = `feature ${server} ${daemon} ${name}`;
    const href = linkTo("feature", { server, daemon, name });
    found.set(id, { id, kind: "feature", name, detail: `${server} ${daemon}`, href });
  }
  for (const { server, user, host } of users)
    for (const [kind, of, name] of [
      ["person", "user", user],
      ["host", "host", host],
    ] as const) {
      if (name === null) continue;
      const site = siteOf(server);
      const id = `${kind} ${site} ${name}`;
      found.set(id, { id, kind, name, detail: site, href: linkTo("person", { site, [of]: name }) });
    }
  return [...found.values()];
}
