import { computed, signal } from "@preact/signals";
import { siteOf } from "../domain/server.ts";
import { PAGE_PATHS, type PagePath } from "../domain/words.ts";
import { type Query, search } from "./api.ts";
import { IS_FLEET, IS_HUB, SITE } from "./here.ts";
import type { Place } from "./model.ts";

const here = () => ({ path: location.pathname, query: location.search });
const place = signal(here());

/** The current page; `""` is the first page. Only the last segment counts, because a proxy may add a prefix. */
export const page = computed<PagePath | "">(() => {
  const last = place.value.path.split("/").at(-1) ?? "";
  return PAGE_PATHS.find((path) => path === last) ?? "";
});
export const query = computed(() => new URLSearchParams(place.value.query));

export const hrefOf = ({ path, query = {} }: Place): string => linkTo(path, query);

const OF_NO_SITE: readonly string[] = ["admin", "logs", "signin"] satisfies PagePath[];
export const isOfNoSite = (path: PagePath | ""): boolean => OF_NO_SITE.includes(path);

/** Returns a relative link to a page. At a hub, the link leads to the same site, or to the site of the server. */
export function linkTo(path: PagePath | "", parameters: Query = {}): string {
  if (!IS_HUB || isOfNoSite(path)) return `./${path}${search(parameters)}`;
  // A fleet has no page per person, so the link leads to the search.
  if (IS_FLEET && path === "person" && !("site" in parameters))
    return `./${search({ q: parameters.user ?? parameters.host ?? "" })}`;
  if (SITE !== null) return `./${path}${search({ site: SITE, ...parameters })}`;
  const entries = Object.entries(parameters).map(([name, value]) => {
    const of = (name === "server" || name === "id") && typeof value === "string" ? siteOf(value) : "";
    return of === "" ? { [name]: value } : { site: of, [name]: value.slice(of.length + 1) };
  });
  return `./${path}${search(Object.assign({}, ...entries))}`;
}

const isElsewhere = (href: string) =>
  IS_HUB && new URL(href, document.baseURI).searchParams.get("site") !== SITE;

/**
 * Address that is not written yet. Browsers need milliseconds to write an address, so writing waits for a
 * pause in typing.
 */
let unwritten: string | null = null;
let writing: ReturnType<typeof setTimeout> | undefined;
const WRITES_AFTER_MS = 300;

function write(): void {
  if (unwritten !== null) history.replaceState(history.state, "", unwritten);
  unwritten = null;
}

function push(href: string): void {
  write();
  history.replaceState({ ...history.state, y: scrollY }, "");
  history.pushState(null, "", href);
  place.value = here();
}

export function go(href: string): void {
  if (isElsewhere(href)) location.assign(href);
  else {
    push(href);
    scrollTo(0, 0);
  }
}

/**
 * Changes parameters of the address. Null removes a parameter; parameters that are not named stay. With
 * `step`, Back returns to the state before.
 */
export function setQuery(changes: Readonly<Record<string, string | null>>, step = false): void {
  const { path, query: before } = place.peek();
  const next = new URLSearchParams(before);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  }
  const search = next.size > 0 ? `?${next}` : "";
  if (step) {
    push(path + search);
    return;
  }
  clearTimeout(writing);
  writing = setTimeout(write, WRITES_AFTER_MS);
  unwritten = path + search;
  place.value = { path, query: search };
}

/** Makes links change the page without loading the document; Back restores the scroll position. */
export function startRouter(): void {
  history.scrollRestoration = "manual";
  addEventListener("pagehide", write);
  addEventListener("popstate", ({ state }) => {
    unwritten = null;
    place.value = here();
    requestAnimationFrame(() => scrollTo(0, (state as { y?: number } | null)?.y ?? 0));
  });
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>('a[href^="./"]');
    const isPlain = !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) && event.button === 0;
    if (link === null || !isPlain || link.target !== "" || link.hasAttribute("download")) return;
    if (isElsewhere(link.href)) return;
    const { pathname } = new URL(link.href);
    const last = pathname.split("/").at(-1) ?? "";
    if (last !== "" && !PAGE_PATHS.some((path) => path === last)) return;
    event.preventDefault();
    go(link.getAttribute("href") ?? "./");
    document.getElementById("main")?.focus({ preventScroll: true });
  });
}
