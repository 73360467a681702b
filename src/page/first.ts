/** Runs inside the document before the first paint. Not a module: no import, no export. */
const { dataset } = document.documentElement;
dataset.page = location.pathname.split("/").at(-1);
try {
  const kept = localStorage.getItem("licmond-theme");
  if (kept === "light" || kept === "dark") dataset.theme = kept;
} catch {}
// Only the document of a hub has this attribute (scripts/lib/page.ts). A hub has a picture of each site,
// but none of all sites.
if (dataset.hub) globalThis.siteHere = new URLSearchParams(location.search).get("site") || null;
const of = globalThis.siteHere;
const pictures = of === null ? [] : [`/api/picture${of ? `?${new URLSearchParams({ site: of })}` : ""}`];
/** Requests that are sent while the page's script loads. `ask` in api.ts takes their answers. */
globalThis.early = new Map(
  ["/api/me", ...pictures].map((path) => {
    const answer = fetch(`.${path}`, { cache: "no-store", headers: { "x-licmond": "page" } });
    answer.catch(() => {});
    return [path, answer];
  }),
);
