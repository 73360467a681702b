import { computed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { DenialRecord, LoggingRecord } from "../../domain/denials.ts";
import { featureIdKey } from "../../domain/history.ts";
import { mayNot, type Query, serverNow } from "../api.ts";
import { EXPIRY_DAYS } from "../daily/figures.ts";
import { type Day, dayOf } from "../daily/series.ts";
import { number } from "../format.ts";
import { IS_FLEET } from "../here.ts";
import { lastDenial } from "../live/alerts.ts";
import { now, site } from "../live/live.ts";
import { allFeatures, type Site } from "../model.ts";
import { useAnswer } from "../parts/answer.tsx";
import { type DenialGroup, grouped } from "../past-rows.ts";

const quarter = computed(() => Math.floor(now.value / 900_000));
/**
 * Maximum number of features for which a series has steps of five minutes (289 points per feature). For
 * more features, the steps are an hour (25 points).
 */
const MOST_FINE = 60;
const MOST_FEATURES = 1_000;

/** Returns the last known answer while a new one loads. */
function useLast<T>(answer: T | null): T | null {
  const last = useRef(answer);
  last.current = answer ?? last.current;
  return last.current;
}

interface Past {
  readonly day: Day | null;
  /** Reason why the day is missing; null if the day is known or loading. */
  readonly why: string | null;
}

/** Reads the last 24 hours of these servers every quarter of an hour. */
export function useDay(servers: Site): Past {
  const features = allFeatures(servers).length;
  const isTooMuch = features > MOST_FEATURES;
  const asked: Query = {
    series: "true",
    interval: features > MOST_FINE ? "1h" : "5m",
    ...(servers.size !== site.value?.size && { server: [...servers.keys()] }),
  };
  const isAsked = servers.size > 0 && !isTooMuch;
  const { answer, error } = useAnswer("/api/licenses/stats", isAsked ? asked : null, quarter.value);
  const day = useLast(useMemo(() => answer && dayOf(answer.features, serverNow()), [answer]));
  if (isTooMuch)
    return { day: null, why: `The sum of 24 hours is drawn for up to ${number(MOST_FEATURES)} features.` };
  if (day === null) return { day, why: error === null ? null : "Use cannot be read now." };
  return { day, why: day.coverage === 0 ? "The chart appears after some minutes of data." : null };
}

export const midnight = (): number => new Date(serverNow()).setHours(0, 0, 0, 0);

export interface Denials {
  /** Denials by feature, or by daemon if the manager only counts denials. */
  readonly of: readonly DenialGroup[];
  /** Number of denials; null if they are unknown for all servers. */
  readonly count: number | null;
  readonly unknown: readonly LoggingRecord[];
}

/**
 * Reads denials every quarter of an hour. In between, events keep them current. `denials` is null while
 * they are unknown.
 */
export function useDenials(): { readonly denials: Denials | null; readonly isUnread: boolean } {
  const asked = { start: new Date(midnight()).toISOString(), limit: "10000" };
  const { answer: read, error } = useAnswer(
    "/api/licenses/denials",
    mayNot("holders") ? null : asked,
    quarter.value,
  );
  const answer = useLast(read);
  const heard = useSignal<readonly DenialRecord[]>([]);
  useEffect(() => {
    heard.value = [];
  }, [answer]);
  useSignalEffect(() => {
    if (lastDenial.value === null) return;
    const { deniedAt, type, id, ...fields } = lastDenial.value;
    heard.value = [...heard.peek(), { ...fields, timestamp: deniedAt }];
  });
  const denials = useMemo(
    () => answer && denialsOf([...answer.denials, ...heard.value], answer.logging),
    [answer, heard.value],
  );
  return { denials, isUnread: error !== null };
}

/** Reads expiries every quarter of an hour, because the picture does not contain single licenses. */
export function useExpiries(servers: Site) {
  const ofSome = servers.size !== site.value?.size && { server: [...servers.keys()] };
  const query = { days: `${EXPIRY_DAYS}`, limit: IS_FLEET ? "1000" : "10000", ...ofSome };
  return useAnswer("/api/licenses/expirations", query, quarter.value);
}

function denialsOf(rows: readonly DenialRecord[], logging: readonly LoggingRecord[]): Denials {
  const today = rows.filter(
    ({ outcome, timestamp }) => outcome === "denied" && Date.parse(timestamp) >= midnight(),
  );
  const of = grouped(today, featureIdKey);
  const unknown = logging.filter(({ state }) => state !== "on");
  const count = of.reduce((sum, { denied }) => sum + denied, 0);
  return { of, count: unknown.length === logging.length ? null : count, unknown };
}
