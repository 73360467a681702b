import { signal } from "@preact/signals";
import { post } from "../api.ts";
import { again, forget } from "../live/live.ts";
import { go, linkTo } from "../router.ts";
import { keep, kept } from "../storage.ts";
import type { words } from "../words.ts";

/** What a button, a key and the palette can do alike. */

type Theme = keyof typeof words.themes;
const NEXT: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
export const theme = signal<Theme>((document.documentElement.dataset.theme as Theme | undefined) ?? "system");

/** System, light, dark. */
export function nextTheme(): void {
  theme.value = NEXT[theme.value];
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
  keep("theme", theme.value);
}

export async function signOut(): Promise<void> {
  // Its stream ends with the sign-in: nothing is asked because of that.
  forget();
  try {
    await post("/api/signout", null);
  } catch {
    // Whether the sign-in has ended by itself or nothing answers, the picture tells.
    return again();
  }
  go(linkTo("signin"));
}

/** What is open over the page. */
export const overlay = signal<"palette" | "sites" | "keys" | null>(null);

/** Keys without Ctrl do something; who dictates or types with a stick may switch them off (WCAG 2.1.4). */
export const singleKeys = signal(kept("single-keys") !== "off");

export function setSingleKeys(on: boolean): void {
  singleKeys.value = on;
  keep("single-keys", on ? null : "off");
}
