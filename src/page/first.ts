/** Runs before anything is painted, and blocks. No module: no import, no export. */
// The skeleton is of this page.
document.documentElement.dataset.page = location.pathname.split("/").at(-1);
try {
  // A theme that this browser keeps must hold before the first paint.
  const kept = localStorage.getItem("licmond-theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
} catch {
  // Storage is off: the system's theme holds.
}
/** Asked for while the page's script loads, which takes the answers (`ask` of api.ts). */
globalThis.early = new Map(
  ["/api/me", "/api/picture"].map((path) => {
    const answer = fetch(`.${path}`, { cache: "no-store", headers: { "x-licmond": "page" } });
    // Whoever takes it is told that it failed.
    answer.catch(() => {});
    return [path, answer];
  }),
);
