import { signal } from "@preact/signals";
import { post } from "../api.ts";
import { again, forget } from "../live/live.ts";
import { go, linkTo } from "../router.ts";
import { keep, kept } from "../storage.ts";

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
  // The stream ends with the sign-in: ignore its errors.
  forget();
  try {
    await post("/api/signout", null);
  } catch {
    // The picture shows whether the sign-in ended or the daemon is unreachable.
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
