import { type Static, Type } from "@sinclair/typebox";
import { Count, nullable, record, SummaryRecord, Timestamp, words } from "../records.ts";
import { AUDIENCES } from "../words.ts";

export const SITE_STATES = ["connected", "behind", "silent"] as const;

/** A site of a fleet, as its hub sees it. */
export const SiteRecord = record("Site", {
  site: Type.String(),
  state: words(
    SITE_STATES,
    "silent: nothing was heard of it for 30 s, or it was stopped; behind: it has facts that have waited for more than a minute",
  ),
  lagFacts: nullable(
    Type.Integer({
      minimum: 0,
      description: "Facts that the site has and the hub has not, as of its last push",
    }),
  ),
  lagSeconds: nullable(Type.Integer({ minimum: 0, description: "How old the oldest of these is" })),
  daysLeft: nullable(
    Type.Integer({ minimum: 0, description: "Days of the past that are still to come; null: none" }),
  ),
  lastPushAt: nullable(Timestamp),
  stoppedAt: nullable({ ...Timestamp, description: "When it said that it ends; null: it did not" }),
  joinedAt: Timestamp,
  version: nullable(Type.String({ description: "Of licmond there" })),
  clockOffsetMs: nullable(Type.Integer({ description: "The site's clock minus the hub's at its last push" })),
  servers: Count,
  statuses: Type.Object(SummaryRecord.properties.servers.properties, {
    description: "Its servers by status, as the site said last",
  }),
  features: Count,
  fullFeatures: Type.Integer({
    minimum: 0,
    description: "Those of which no seat is free by figures that were fresh at the site",
  }),
  alerts: Type.Object(SummaryRecord.properties.alerts.properties, { description: "What fires" }),
  nextExpiry: nullable(
    Type.String({ description: "The day on which licenses expire next, YYYY-MM-DD; null: on none" }),
  ),
  refusedFacts: Type.Integer({ minimum: 0, description: "That could not be taken, and were set aside" }),
  timezone: nullable(Type.String()),
  people: nullable(words(AUDIENCES)),
  labels: Type.Record(Type.String(), Type.String()),
});
export type SiteRecord = Static<typeof SiteRecord>;

/** The totals of a fleet. */
export const FleetSummary = record("FleetSummary", {
  ...SummaryRecord.properties,
  sites: Type.Object(
    { total: Count, silent: Count },
    { description: "Of a silent site nothing was heard for 30 s: its numbers are stale" },
  ),
});
export type FleetSummary = Static<typeof FleetSummary>;
