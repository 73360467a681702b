import { ApiError } from "../../domain/errors.ts";
import { SITE_STATES, type SiteRecord } from "../../domain/service/sites.ts";
import {
  counter,
  type Emit,
  emitKnown,
  emitOneOf,
  gauge,
  type Labels,
  labelsOf,
  NO_LABELS,
  seconds,
} from "../../export/family.ts";
import type { PushPort } from "../routes/push.ts";

/** Families about the sites of a fleet. */
export const SITE = {
  info: gauge(
    "licmond_site_info",
    "Always 1; licmond version at the site, and how it names people to the hub.",
  ),
  state: gauge(
    "licmond_site_state",
    "1 for the current state (connected, behind, silent), 0 for the others.",
  ),
  lagFacts: gauge(
    "licmond_site_lag_facts",
    "Facts of the site that the hub does not have yet; absent while the site is silent.",
  ),
  lag: gauge(
    "licmond_site_lag_seconds",
    "Age of the oldest of these facts; absent while the site is silent.",
  ),
  pushed: gauge(
    "licmond_site_last_push_timestamp_seconds",
    "Time of the last stored push, by the hub's clock.",
  ),
  refused: gauge("licmond_site_refused_facts", "Facts and days that could not be stored and were set aside."),
  daysLeft: gauge(
    "licmond_site_backfill_remaining",
    "Past days that the site has yet to send; absent if it has sent all.",
  ),
  clock: gauge("licmond_site_clock_offset_seconds", "The site's clock minus the hub's at the last push."),
} as const;

/** Families about the hub itself. */
export const HUB = {
  pushes: counter("licmond_hub_pushes_total", "Pushes by outcome, since the start of this hub."),
  facts: counter("licmond_hub_facts_total", "Facts in pushes; facts that were sent again count again."),
  publishing: gauge(
    "licmond_hub_publish_lag_seconds",
    "Age of the oldest event that is waiting to be published.",
  ),
  leftOut: gauge(
    "licmond_hub_left_out",
    "Servers and features whose series are left out because there are too many: narrow the scrape with site=.",
  ),
} as const;

export function emitSite(site: SiteRecord, emit: Emit): void {
  const labels: Labels = [["site", site.site]];
  const { version, people, lagFacts, lagSeconds, lastPushAt, clockOffsetMs } = site;
  emit(SITE.info, [...labels, ["version", version ?? ""], ["people", people ?? ""]], 1);
  emitOneOf(emit, SITE.state, labels, "state", SITE_STATES, site.state);
  emitKnown(emit, SITE.lagFacts, labels, lagFacts);
  emitKnown(emit, SITE.lag, labels, lagSeconds);
  emitKnown(emit, SITE.pushed, labels, lastPushAt === null ? null : Date.parse(lastPushAt) / 1000);
  emit(SITE.refused, labels, site.refusedFacts);
  emitKnown(emit, SITE.daysLeft, labels, site.daysLeft);
  emitKnown(emit, SITE.clock, labels, seconds(clockOffsetMs));
}

/** Counts pushes. */
export function createPushMeter() {
  const pushes = { taken: 0, conflict: 0, failed: 0 };
  let facts = 0;
  return {
    /** Wraps the port to count its pushes. */
    counted: ({ take, hold }: PushPort): PushPort => ({
      hold,
      async take(batch, address) {
        try {
          const answer = await take(batch, address);
          pushes.taken++;
          facts += batch.facts.length;
          return answer;
        } catch (error) {
          pushes[error instanceof ApiError && error.code === "CONFLICT" ? "conflict" : "failed"]++;
          throw error;
        }
      },
    }),
    emit(emit: Emit): void {
      for (const [outcome, count] of Object.entries(pushes)) emit(HUB.pushes, labelsOf({ outcome }), count);
      emit(HUB.facts, NO_LABELS, facts);
    },
  };
}
