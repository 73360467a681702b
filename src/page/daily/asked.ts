import { signal } from "@preact/signals";
import type { SitesAlert } from "../live/alerts.ts";

export interface Asked {
  readonly alert: SitesAlert;
  readonly action: "acknowledge" | "silence";
}

/** The alert whose dialog is open. */
export const asked = signal<Asked | null>(null);

/** Opens the dialog of an alert. */
export function ask(what: Asked): void {
  asked.value = what;
}
