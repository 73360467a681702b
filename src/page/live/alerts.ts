import { signal } from "@preact/signals";
import type { AlertRecord } from "../../domain/alerts.ts";
import type { AlertEvent, DenialEvent } from "../../domain/events.ts";
import { get } from "../api.ts";

/** An alert; at a hub with the site that it is of. */
export type SitesAlert = AlertRecord & { readonly site?: string };

/** What fires, by id; null until it was read. Of a fleet the newest alone. */
export const firing = signal<ReadonlyMap<number, SitesAlert> | null>(null);
/** Grows with each change that was heard of, or seen. */
export const changes = signal(0);
/** The alert that changed last, and the denial that was heard of last; null = none since the page was opened. */
export const lastAlert = signal<AlertEvent | null>(null);
export const lastDenial = signal<DenialEvent | null>(null);

/** What was heard while an answer was under way, which may be older. */
let heard: AlertEvent[] | null = null;
const MOST = 10_000;

/** Reads what fires; afterwards events keep it right. What fails is told by the picture, which is asked for at the same time. */
export async function loadAlerts(): Promise<void> {
  heard = [];
  const answer = await get("/api/licenses/alerts", { state: "firing", limit: `${MOST}` }).catch(() => null);
  // While nothing answers, what was known stays.
  if (answer !== null) firing.value = new Map(answer.alerts.map((alert) => [alert.id, alert]));
  for (const event of heard ?? []) take(event);
  heard = null;
}

export function hearAlert(event: AlertEvent): void {
  heard?.push(event);
  take(event);
  lastAlert.value = event;
}

function take({ alert: id, type, timestamp, change, ...fields }: AlertEvent): void {
  if (firing.value !== null) put({ ...fields, id });
}

/** As the answer of an action has it: its event may come later, or not at all while nothing is live. */
export function put(alert: SitesAlert): void {
  const next = new Map(firing.value);
  next.delete(alert.id);
  if (alert.state === "firing") next.set(alert.id, alert);
  firing.value = next;
  changes.value++;
}

/** The colour of an alert: its severity may be critical because all seats are taken, which is not broken. */
export const TONES = ["crit", "full", "warn", "info"] as const;
export type Tone = (typeof TONES)[number];

export function toneOf({ rule, severity }: Pick<AlertRecord, "rule" | "severity">): Tone {
  if (rule === "seats") return "full";
  if (rule === "denials" || severity === "critical") return "crit";
  return severity === "warning" ? "warn" : "info";
}

/** Alerts that fire and are neither acknowledged nor silenced; `worst`: null where there are none. */
export interface Unhandled {
  readonly count: number;
  readonly worst: Tone | null;
}

/** Nobody has acknowledged or silenced it. */
export const isUnhandled = ({ acknowledged, silencedUntil }: AlertRecord, now: number): boolean =>
  !acknowledged && (silencedUntil === null || Date.parse(silencedUntil) <= now);

export function unhandledOf(firing: Iterable<AlertRecord>, now: number): Unhandled {
  const open = [...firing].filter((alert) => isUnhandled(alert, now)).map(toneOf);
  const worst = TONES.find((tone) => open.includes(tone));
  return { count: open.length, worst: worst ?? null };
}
