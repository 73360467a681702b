import { effect, signal } from "@preact/signals";
import type { DenialRecord } from "../../domain/denials.ts";
import type { DenialState } from "../../domain/words.ts";
import { get, type Query, serverNow } from "../api.ts";
import { EXPIRY_DAYS } from "../daily/figures.ts";
import { type Day, dayOf } from "../daily/series.ts";
import { lastDenial } from "../live/alerts.ts";
import { site } from "../live/live.ts";
import { mayNot } from "../me.ts";
import type { Site } from "../model.ts";
import { useAnswer } from "../parts/figure.tsx";
import { type DenialGroup, grouped } from "../past-rows.ts";

/** Denials since midnight, as far as they are known. */
interface Denials {
  /** By feature, or by daemon whose manager only counts them. */
  readonly of: readonly DenialGroup[];
  readonly count: number;
  /** Servers of which they are not known, and why. */
  readonly unknown: readonly { readonly server: string; readonly state: DenialState }[];
  /** They are known of no server. */
  readonly isUnknown: boolean;
}

export interface Past {
  /** `loading`; null where it cannot be read; `tooMany` features to add up here. */
  readonly day: Day | "loading" | "tooMany" | null;
  /** Null while it is not known. */
  readonly denied: Denials | null;
  readonly isDeniedUnread: boolean;
}

/** What the overview says of the last 24 hours and of today. */
export const past = signal<Past>({ day: "loading", denied: null, isDeniedUnread: false });

/** A series has 289 points of five minutes, or 25 of an hour; the daemon sends those of each feature. */
const MOST_FINE = 60;
export const MOST_FEATURES = 1_000;
const MOST_DENIALS = 10_000;

let answered: { readonly rows: DenialRecord[]; readonly logging: Denials["unknown"] } | null = null;

/** Epoch ms of the last midnight of the reader's zone. */
export function midnight(): number {
  return new Date(serverNow()).setHours(0, 0, 0, 0);
}

export async function loadPast(site: Site, signal: AbortSignal): Promise<void> {
  await Promise.all([loadDay(site, signal), loadDenials(signal)]);
}

async function loadDay(site: Site, signal: AbortSignal): Promise<void> {
  const day = await readDay(site, signal);
  if (!signal.aborted) past.value = { ...past.value, day };
}

/** The last 24 hours of these servers; `query` where they are not all there are. */
export async function readDay(
  site: Site,
  signal: AbortSignal,
  query: Query = {},
): Promise<Day | "tooMany" | null> {
  const features = [...site.values()].reduce((sum, server) => sum + server.features.size, 0);
  if (features > MOST_FEATURES) return "tooMany";
  const asked = { ...query, series: "true", interval: features > MOST_FINE ? "1h" : "5m" };
  const answer = await get("/api/licenses/stats", asked, signal).catch(() => null);
  return answer && dayOf(answer.features, serverNow());
}

const QUARTER_MS = 900_000;

/** What has expired and what expires soon of these servers, read every quarter of an hour: the picture has no single licenses. */
export function useExpiries(servers: Site, now: number) {
  const asked = servers.size === site.value?.size ? {} : { server: [...servers.keys()] };
  const query = { ...asked, days: `${EXPIRY_DAYS}`, limit: "10000" };
  return useAnswer("/api/licenses/expirations", query, Math.floor(now / QUARTER_MS));
}

async function loadDenials(signal: AbortSignal): Promise<void> {
  if (mayNot("holders")) return;
  const start = new Date(midnight()).toISOString();
  const query = { start, limit: `${MOST_DENIALS}` };
  const answer = await get("/api/licenses/denials", query, signal).catch(() => null);
  if (signal.aborted) return;
  answered = answer && { rows: [...answer.denials], logging: answer.logging };
  tell();
}

function tell(): void {
  if (answered === null) {
    past.value = { ...past.value, denied: null, isDeniedUnread: true };
    return;
  }
  const from = midnight();
  const today = answered.rows.filter(
    ({ outcome, timestamp }) => outcome === "denied" && Date.parse(timestamp) >= from,
  );
  const of = grouped(today, ({ server, daemon, feature }) => JSON.stringify([server, daemon, feature]));
  const count = of.reduce((sum, { denied }) => sum + denied, 0);
  const unknown = answered.logging.filter(({ state }) => state !== "on");
  const isUnknown = unknown.length === answered.logging.length;
  past.value = { ...past.value, isDeniedUnread: false, denied: { of, count, unknown, isUnknown } };
}

effect(() => {
  const denial = lastDenial.value;
  if (denial === null || answered === null) return;
  const { deniedAt, type, id, ...fields } = denial;
  answered.rows.push({ ...fields, timestamp: deniedAt });
  tell();
});
