import { type Static, Type } from "@sinclair/typebox";
import {
  Count,
  nullable,
  record,
  SummaryRecord,
  Timestamp,
  textOrNull,
  timeOrNull,
  words,
} from "../records.ts";
import { AUDIENCES } from "../words.ts";

export const SITE_STATES = ["connected", "behind", "silent"] as const;

export const SiteRecord = record("Site", {
  site: Type.String(),
  state: words(
    SITE_STATES,
    "silent: no contact for 30 s, or stopped; behind: facts have waited for more than a minute",
  ),
  lagFacts: nullable(
    Type.Integer({
      minimum: 0,
      description: "Facts that the hub did not have yet at the site's last push",
    }),
  ),
  lagSeconds: nullable(
    Type.Integer({ minimum: 0, description: "Age of the oldest fact that the hub does not have yet" }),
  ),
  daysLeft: nullable(
    Type.Integer({
      minimum: 0,
      description: "Past days that the site has not sent yet; null if there are none",
    }),
  ),
  lastPushAt: nullable(Timestamp),
  stoppedAt: timeOrNull("When the site reported its shutdown; null if it did not"),
  joinedAt: Timestamp,
  version: textOrNull("Version of licmond at the site"),
  clockOffsetMs: nullable(Type.Integer({ description: "The site's clock minus the hub's at its last push" })),
  servers: Count,
  statuses: Type.Object(SummaryRecord.properties.servers.properties, {
    description: "Servers of the site by status, as last reported",
  }),
  features: Count,
  fullFeatures: Type.Integer({
    minimum: 0,
    description: "Features without a free seat, among those with current numbers",
  }),
  alerts: Type.Object(SummaryRecord.properties.alerts.properties, {
    description: "Firing alerts by severity",
  }),
  nextExpiry: textOrNull("Next day on which licenses expire, YYYY-MM-DD; null: none"),
  refusedFacts: Type.Integer({
    minimum: 0,
    description: "Facts that the hub set aside because it could not store them",
  }),
  timezone: nullable(Type.String()),
  people: nullable(words(AUDIENCES)),
  labels: Type.Record(Type.String(), Type.String()),
});
export type SiteRecord = Static<typeof SiteRecord>;

export const FleetSummary = record("FleetSummary", {
  ...SummaryRecord.properties,
  sites: Type.Object(
    { total: Count, silent: Count },
    { description: "A site is silent after 30 s without contact; its numbers are stale" },
  ),
});
export type FleetSummary = Static<typeof FleetSummary>;
