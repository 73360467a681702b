import { signal } from "@preact/signals";
import { post } from "../api.ts";
import { again, forget } from "../live/live.ts";
import { go, linkTo } from "../router.ts";
import { keep, kept } from "../storage.ts";
import { isShown, PLACES } from "./places.ts";

type Theme = "system" | "light" | "dark";
const NEXT: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
export const theme = signal<Theme>((document.documentElement.dataset.theme as Theme | undefined) ?? "system");

export function nextTheme(): void {
  theme.value = NEXT[theme.value];
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
  keep("theme", theme.value);
}

export async function signOut(): Promise<void> {
  // Stop the stream first, because it ends with the sign-in and would report errors.
  forget();
  try {
    await post("/api/signout", null);
  } catch {
    // Read the picture again, which shows whether the sign-in ended or the daemon is unreachable.
    return again();
  }
  go(linkTo("signin"));
}

export const overlay = signal<"palette" | "sites" | "keys" | null>(null);

/** Single keys act without Ctrl. People who dictate can switch them off (WCAG 2.1.4). */
export const singleKeys = signal(kept("single-keys") !== "off");

export function setSingleKeys(on: boolean): void {
  singleKeys.value = on;
  keep("single-keys", on ? null : "off");
}

const TYPING = "input:not([type=checkbox]), select, textarea, [contenteditable]";
const ROWS = '[role="row"] .name:is(a, button), .rt td:first-child a';
const GOES_ON_MS = 1_500;

/**
 * Handles the keys of the page. Ctrl-K opens the palette. `/` opens the search of the list, or the palette.
 * `?` lists the keys. `g` and a letter open a page. `t` changes the theme. `[` and `]` change the range.
 * `j`, `k` and arrows move through rows. Esc leaves a field.
 */
export function startKeys(): void {
  let goesAt = Number.NEGATIVE_INFINITY;
  const single: Readonly<Record<string, () => void>> = {
    t: nextTheme,
    "?": () => {
      overlay.value = "keys";
    },
    "/": () => {
      const field = document.getElementById("search") as HTMLInputElement | null;
      if (field === null) overlay.value = "palette";
      field?.select();
      field?.focus();
    },
    j: () => step(1),
    k: () => step(-1),
    "[": () => stepRange(-1),
    "]": () => stepRange(1),
  };

  function typed(event: KeyboardEvent, target: HTMLElement): boolean {
    if (event.key === "Escape") target.blur();
    return event.key === "ArrowDown" && target.id === "search" && step(1);
  }

  function pressed({ key }: KeyboardEvent): boolean {
    // The overlay may still be loading.
    if (overlay.value !== null) return false;
    if (key === "ArrowDown" || key === "ArrowUp") return step(key === "ArrowDown" ? 1 : -1);
    if (!singleKeys.value) return false;
    const goes = performance.now() - goesAt < GOES_ON_MS;
    goesAt = key === "g" ? performance.now() : Number.NEGATIVE_INFINITY;
    const place = goes ? PLACES.find(({ letter, path }) => letter === key && isShown(path)) : undefined;
    if (place !== undefined) go(linkTo(place.path));
    else single[key]?.();
    return place !== undefined || key in single;
  }

  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.key === "k" && (event.ctrlKey || event.metaKey)) {
      overlay.value = "palette";
      event.preventDefault();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("dialog") !== null) return;
    if (target.matches(TYPING) ? typed(event, target) : pressed(event)) event.preventDefault();
  });
}

/** Focuses the link of the next row, or of the first. Returns false without rows. */
function step(by: number): boolean {
  const links = [...document.querySelectorAll<HTMLElement>(ROWS)];
  const here = links.indexOf(document.activeElement as HTMLElement);
  const isFirst = document.activeElement?.id === "search" || document.activeElement?.id === "main";
  if (here === -1 && !isFirst && document.activeElement !== document.body) return false;
  const next = links[here === -1 ? 0 : here + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return next !== undefined;
}

/** Chooses the next longer (1) or shorter (-1) range, if the page has ranges. */
function stepRange(by: 1 | -1): boolean {
  const pressed = document.querySelector('.range [aria-pressed="true"]');
  const next = by === 1 ? pressed?.nextElementSibling : pressed?.previousElementSibling;
  if (next instanceof HTMLButtonElement) next.click();
  return pressed !== null;
}
