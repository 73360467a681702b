/** Blocks, so that a theme that this browser keeps holds before the first paint. No module: no import, no export. */
try {
  const kept = localStorage.getItem("licmond-theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
} catch {
  // Storage is off: the system's theme holds.
}
