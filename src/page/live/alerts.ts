import { signal } from "@preact/signals";
import type { AlertRecord } from "../../domain/alerts.ts";
import type { AlertEvent, DenialEvent } from "../../domain/events.ts";
import { get } from "../api.ts";

/** An alert, with its site at a hub. */
export type SitesAlert = AlertRecord & { readonly site?: string };

/** Firing alerts by id; null until they are read. For a fleet, only the newest alerts. */
export const firing = signal<ReadonlyMap<number, SitesAlert> | null>(null);
export const changes = signal(0);
/** The last alert event and the last denial event; null if none arrived since the page was opened. */
export const lastAlert = signal<AlertEvent | null>(null);
export const lastDenial = signal<DenialEvent | null>(null);

/** Events that arrived during a request, whose answer may be older than the events; null while no request runs. */
let heard: AlertEvent[] | null = null;
const MOST = 10_000;

/**
 * Reads the firing alerts; afterwards, events keep them current. Ignores failures, because the request for
 * the picture reports them.
 */
export async function loadAlerts(): Promise<void> {
  heard = [];
  const answer = await get("/api/licenses/alerts", { state: "firing", limit: `${MOST}` }).catch(() => null);
  // Without an answer, keep the known alerts.
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

/**
 * Applies the alert in the answer to an action. The alert's event may come later, or never while nothing is
 * live.
 */
export function put(alert: SitesAlert): void {
  const next = new Map(firing.value);
  next.delete(alert.id);
  if (alert.state === "firing") next.set(alert.id, alert);
  firing.value = next;
  changes.value++;
}

/** Colors of alerts. A full feature is orange although its severity may be critical. */
export const TONES = ["crit", "full", "warn", "info"] as const;
export type Tone = (typeof TONES)[number];

export function toneOf({ rule, severity }: Pick<AlertRecord, "rule" | "severity">): Tone {
  if (rule === "seats") return "full";
  if (rule === "denials" || severity === "critical") return "crit";
  return severity === "warning" ? "warn" : "info";
}

export type Unhandled = Readonly<{ count: number; worst: Tone | null }>;

export const isUnhandled = ({ acknowledged, silencedUntil }: AlertRecord, now: number): boolean =>
  !acknowledged && (silencedUntil === null || Date.parse(silencedUntil) <= now);

export function unhandledOf(firing: Iterable<AlertRecord>, now: number): Unhandled {
  const open = [...firing].filter((alert) => isUnhandled(alert, now)).map(toneOf);
  const worst = TONES.find((tone) => open.includes(tone));
  return { count: open.length, worst: worst ?? null };
}

export type Asked = Readonly<{ alert: SitesAlert; action: "acknowledge" | "silence" }>;

export const asked = signal<Asked | null>(null);

export function ask(what: Asked): void {
  asked.value = what;
}
