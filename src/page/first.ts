/** Runs inside the document before the first paint. Not a module: no import, no export. */
const { dataset } = document.documentElement;
dataset.page = location.pathname.split("/").at(-1);
try {
  const kept = localStorage.getItem("licmond-theme");
  if (kept === "light" || kept === "dark") dataset.theme = kept;
} catch {}
// A hub's document has the attribute (scripts/lib/page.ts). A hub has pictures of its sites only.
if (dataset.hub) globalThis.siteHere = new URLSearchParams(location.search).get("site") || null;
const of = globalThis.siteHere;
const pictures = of === null ? [] : [`/api/picture${of ? `?${new URLSearchParams({ site: of })}` : ""}`];
/** Requested while the page's script loads; `ask` of api.ts takes the answers. */
globalThis.early = new Map(
  ["/api/me", ...pictures].map((path) => {
    const answer = fetch(`.${path}`, { cache: "no-store", headers: { "x-licmond": "page" } });
    answer.catch(() => {});
    return [path, answer];
  }),
);
