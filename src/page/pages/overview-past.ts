import { computed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { DenialRecord, LoggingRecord } from "../../domain/denials.ts";
import { type Query, serverNow } from "../api.ts";
import { EXPIRY_DAYS } from "../daily/figures.ts";
import { type Day, dayOf } from "../daily/series.ts";
import { daily } from "../daily/words.ts";
import { IS_FLEET } from "../here.ts";
import { lastDenial } from "../live/alerts.ts";
import { now, site } from "../live/live.ts";
import { mayNot } from "../me.ts";
import { allFeatures, type Site } from "../model.ts";
import { useAnswer } from "../parts/answer.tsx";
import { type DenialGroup, grouped } from "../past-rows.ts";

const quarter = computed(() => Math.floor(now.value / 900_000));
/** A series has 289 points of five minutes, or 25 of an hour; the daemon sends those of each feature. */
const MOST_FINE = 60;
const MOST_FEATURES = 1_000;

/** What was known last stays while nothing answers. */
function useLast<T>(answer: T | null): T | null {
  const last = useRef(answer);
  last.current = answer ?? last.current;
  return last.current;
}

interface Past {
  readonly day: Day | null;
  /** Why there is no day, in words; null also while it is read. */
  readonly why: string | null;
}

/** The last 24 hours of these servers, read every quarter of an hour. */
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
  if (isTooMuch) return { day: null, why: daily.tooMany(MOST_FEATURES) };
  if (day === null) return { day, why: error === null ? null : daily.notRead };
  return { day, why: day.coverage === 0 ? daily.noReadings : null };
}

/** Epoch ms of the last midnight of the reader's zone. */
export const midnight = (): number => new Date(serverNow()).setHours(0, 0, 0, 0);

/** Denials since midnight, as far as they are known. */
export interface Denials {
  /** By feature, or by daemon whose manager only counts them. */
  readonly of: readonly DenialGroup[];
  /** Null where they are known of no server. */
  readonly count: number | null;
  /** Servers of which they are not known, and why. */
  readonly unknown: readonly LoggingRecord[];
}

/** Read every quarter of an hour, and kept right by events between; null while they are not known. */
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

/** What has expired and what expires soon of these servers, read every quarter of an hour: the picture has no single licenses. */
export function useExpiries(servers: Site) {
  const ofSome = servers.size !== site.value?.size && { server: [...servers.keys()] };
  const query = { days: `${EXPIRY_DAYS}`, limit: IS_FLEET ? "1000" : "10000", ...ofSome };
  return useAnswer("/api/licenses/expirations", query, quarter.value);
}

function denialsOf(rows: readonly DenialRecord[], logging: readonly LoggingRecord[]): Denials {
  const today = rows.filter(
    ({ outcome, timestamp }) => outcome === "denied" && Date.parse(timestamp) >= midnight(),
  );
  const of = grouped(today, ({ server, daemon, feature }) => JSON.stringify([server, daemon, feature]));
  const unknown = logging.filter(({ state }) => state !== "on");
  const count = of.reduce((sum, { denied }) => sum + denied, 0);
  return { of, count: unknown.length === logging.length ? null : count, unknown };
}
