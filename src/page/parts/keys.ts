import { go, linkTo } from "../router.ts";
import { nextTheme } from "./header.tsx";
import { stepRange } from "./range-choice.tsx";

const TYPING = "input, select, textarea, [contenteditable]";
const PLACES = {
  o: "",
  f: "features",
  p: "people",
  s: "servers",
  e: "expiry",
  d: "denials",
  h: "history",
  a: "alerts",
} as const;
const GOES_ON_MS = 1_500;

/** `/` searches, `g` and a letter lead to pages, `t` changes the theme, `[` and `]` the range, `j` `k` and arrows go through rows, Esc leaves a field. */
export function startKeys(): void {
  let goesAt = Number.NEGATIVE_INFINITY;
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    const isSearch = event.key === "k" && (event.ctrlKey || event.metaKey);
    if (!isSearch && (event.ctrlKey || event.metaKey || event.altKey)) return;
    if (target.matches(TYPING) && !isSearch) {
      if (event.key === "Escape") target.blur();
      else if (event.key === "ArrowDown" && target.id === "search" && step(1)) event.preventDefault();
      return;
    }
    const place =
      performance.now() - goesAt < GOES_ON_MS ? PLACES[event.key as keyof typeof PLACES] : undefined;
    goesAt = event.key === "g" ? performance.now() : Number.NEGATIVE_INFINITY;
    if (place !== undefined) go(linkTo(place));
    else if (event.key === "t") nextTheme();
    else if (event.key === "[" || event.key === "]") {
      if (!stepRange(event.key === "]" ? 1 : -1)) return;
    } else if (event.key === "/" || isSearch) {
      const field = document.getElementById("search") as HTMLInputElement | null;
      if (field === null) go(linkTo("features"));
      else field.select();
      field?.focus();
    } else {
      const by = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
      if (by === undefined || !step(by)) return;
    }
    event.preventDefault();
  });
}

/** Focuses the link of the next row; the first one when none has the focus. False where there are no rows to go to. */
function step(by: number): boolean {
  const links = [...document.querySelectorAll<HTMLElement>('[role="row"] a.name')];
  const here = links.indexOf(document.activeElement as HTMLElement);
  if (here === -1 && document.activeElement?.id !== "search" && document.activeElement !== document.body)
    return false;
  const next = links[here === -1 ? 0 : here + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return next !== undefined;
}
