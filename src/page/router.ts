import { computed, signal } from "@preact/signals";
import { PAGE_PATHS, type PagePath } from "../domain/words.ts";
import { type Query, search } from "./api.ts";
import type { Place } from "./model.ts";

const here = () => ({ path: location.pathname, query: location.search });
const place = signal(here());

/** The page shown; `""` is the first one. The last segment alone counts: a prefix is the proxy's business. */
export const page = computed<PagePath | "">(() => {
  const last = place.value.path.split("/").at(-1) ?? "";
  return PAGE_PATHS.find((path) => path === last) ?? "";
});
export const query = computed(() => new URLSearchParams(place.value.query));

export const hrefOf = ({ path, query = {} }: Place): string => linkTo(path, query);

/** A link to a page, relative. */
export function linkTo(path: PagePath | "", parameters: Query = {}): string {
  return `./${path}${search(parameters)}`;
}

/** Another place; the one that is left keeps how far it was scrolled. */
export function go(href: string): void {
  history.replaceState({ ...history.state, y: scrollY }, "");
  history.pushState(null, "", href);
  place.value = here();
  scrollTo(0, 0);
}

/** Changes parameters of this place: null takes one away, those not named stay. `step`: Back leads to what was before. */
export function setQuery(changes: Readonly<Record<string, string | null>>, step = false): void {
  const next = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  }
  const href = `${location.pathname}${next.size > 0 ? `?${next}` : ""}`;
  if (step) {
    history.replaceState({ ...history.state, y: scrollY }, "");
    history.pushState(null, "", href);
  } else history.replaceState(history.state, "", href);
  place.value = here();
}

/** Links of the page change what is shown without loading it again; Back restores how far a place was scrolled. */
export function startRouter(): void {
  history.scrollRestoration = "manual";
  addEventListener("popstate", ({ state }) => {
    place.value = here();
    requestAnimationFrame(() => scrollTo(0, (state as { y?: number } | null)?.y ?? 0));
  });
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>('a[href^="./"]');
    const isPlain = !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) && event.button === 0;
    if (link === null || !isPlain || link.target !== "" || link.hasAttribute("download")) return;
    const { pathname } = new URL(link.href);
    const last = pathname.split("/").at(-1) ?? "";
    if (last !== "" && !PAGE_PATHS.some((path) => path === last)) return;
    event.preventDefault();
    go(link.getAttribute("href") ?? "./");
    document.getElementById("main")?.focus({ preventScroll: true });
  });
}
