/** Runs before anything is painted, inside the document. No module: no import, no export. */
const { dataset } = document.documentElement;
// The skeleton is of this page.
dataset.page = location.pathname.split("/").at(-1);
try {
  // A theme that this browser keeps must hold before the first paint.
  const kept = localStorage.getItem("licmond-theme");
  if (kept === "light" || kept === "dark") dataset.theme = kept;
} catch {
  // Storage is off: the system's theme holds.
}
// A hub's document has the attribute (scripts/lib/page.ts). It has pictures of its sites alone.
if (dataset.hub) globalThis.siteHere = new URLSearchParams(location.search).get("site") || null;
const of = globalThis.siteHere;
const pictures = of === null ? [] : [`/api/picture${of ? `?${new URLSearchParams({ site: of })}` : ""}`];
/** Asked for while the page's script loads, which takes the answers (`ask` of api.ts). */
globalThis.early = new Map(
  ["/api/me", ...pictures].map((path) => {
    const answer = fetch(`.${path}`, { cache: "no-store", headers: { "x-licmond": "page" } });
    // Whoever takes it is told that it failed.
    answer.catch(() => {});
    return [path, answer];
  }),
);
