import type { SiteRecord } from "../../domain/service/sites.ts";
import type { PagePath } from "../../domain/words.ts";
import type { Site } from "../model.ts";
import { allFeatures, allHolders, sumOf } from "../model.ts";
import { isOfNoSite, linkTo, page } from "../router.ts";
import { words } from "../words.ts";
import { nextTheme, overlay, signOut } from "./actions.ts";
import { isShown, PLACES } from "./places.ts";
import type { Entry } from "./rank.ts";

const pages = () =>
  PLACES.filter(({ path }) => isShown(path)).map(
    ({ path, word, letter }): Entry => ({
      id: `page ${path}`,
      kind: "page",
      name: word,
      detail: `g ${letter}`,
      href: linkTo(path),
    }),
  );
const actions: readonly (readonly [name: string, detail: string, act: () => void])[] = [
  [words.changeTheme, "t", nextTheme],
  [
    words.keysHead,
    "?",
    () => {
      overlay.value = "keys";
    },
  ],
  [words.signOut, "", () => void signOut()],
];
const ACTIONS = actions.map(
  ([name, detail, act]): Entry => ({ id: `action ${name}`, kind: "action", name, detail, act }),
);

/** People or hosts, each once, with what they have or wait for. */
function holdersOf(site: Site, kind: "person" | "host"): Entry[] {
  const all = new Map<string, { seats: number; other: string | null }>();
  for (const row of allHolders(site)) {
    const name = kind === "person" ? row.user : row.host;
    if (name === null) continue;
    const seats = row.kind === "checkout" ? sumOf([row]) : 0;
    const before = all.get(name);
    if (before === undefined) all.set(name, { seats, other: kind === "person" ? row.host : row.user });
    else before.seats += seats;
  }
  return [...all].map(([name, { seats, other }]) => ({
    id: `${kind} ${name}`,
    kind,
    name,
    detail: [other, words.amount(seats)].filter(Boolean).join(", "),
    href: linkTo("person", { [kind === "person" ? "user" : "host"]: name }),
  }));
}

/** The pages that a page with a single subject belongs to. */
export const WITHIN: Readonly<Partial<Record<PagePath | "", PagePath>>> = {
  feature: "features",
  person: "people",
  server: "servers",
};

/** The other sites of the fleet: the same page there, and all of them together. */
export function siteEntries(sites: readonly SiteRecord[]): readonly Entry[] {
  const here = page.peek();
  const path = isOfNoSite(here) ? "" : (WITHIN[here] ?? here);
  const all = { id: "site", kind: "site", name: words.allSites, detail: "", href: "./" } as const;
  const others = sites.map(
    ({ site, state, labels }): Entry => ({
      id: `site ${site}`,
      kind: "site",
      name: site,
      detail: [words.siteStates[state], ...Object.values(labels)].join(", "),
      href: linkTo(path, { site }),
    }),
  );
  return [all, ...others];
}

/** All that the palette can lead to, in no order. */
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
