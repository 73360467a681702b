import { featureIdKey } from "../../domain/history.ts";
import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import { seatSets, sumOfKnown } from "../../domain/polls/seat-groups.ts";
import type { ExpirationRecord } from "../../domain/records.ts";
import {
  allFeatures,
  allHolders,
  countedRows,
  type FeatureRow,
  type HolderRow,
  labelsOf,
  peopleOf,
  type Site,
  sortedHolders,
} from "../model.ts";
import { lostOf } from "../past-rows.ts";
import { isTroubled } from "./condition.ts";

/**
 * Returns the totals of a site like `/api/licenses/summary`. A total is null if it is unknown, or if the
 * viewer sees no people. `stale` counts features whose numbers are not from the last poll.
 */
export function figuresOf(site: Site) {
  const rows = allFeatures(site);
  const read = rows.filter(({ feature }) => feature.state !== "failed");
  const holders = allHolders(site).filter(({ kind }) => kind === "checkout");
  const counts = [...site.values()].map((server) => server.counts);
  const used = sumOfKnown(counts.map((each) => each.used));
  const seats = [...site.values()].flatMap(({ features }) => seatSets(features.values()).flat());
  const waiting = sumOfKnown(seats.map(({ queued }) => queued)) ?? 0;
  return {
    used,
    total: sumOfKnown(counts.map((each) => each.total)),
    people: holders.length === 0 && used !== 0 ? null : peopleOf(holders),
    waiting: read.length === 0 ? null : waiting,
    stale: rows.filter(({ feature }) => feature.state === "stale").length,
  };
}

const NEARLY = 90;

/**
 * Returns features with at most 10 % free seats. Features with waiting requests come first, then the
 * fullest ones. Features with old numbers come last.
 */
export function tightOf(site: Site): FeatureRow[] {
  const isTight = ({ feature: { total, state, utilization }, free }: FeatureRow) =>
    free !== null && (total ?? 0) > 0 && state !== "failed" && (free === 0 || (utilization ?? 0) >= NEARLY);
  return allFeatures(site)
    .filter(isTight)
    .sort(
      ({ feature: a, free: freeA }, { feature: b, free: freeB }) =>
        Number(a.state === "stale") - Number(b.state === "stale") ||
        (b.queued ?? 0) - (a.queued ?? 0) ||
        Number(freeA !== 0) - Number(freeB !== 0) ||
        (b.utilization ?? 0) - (a.utilization ?? 0) ||
        (b.total ?? 0) - (a.total ?? 0),
    );
}

export const EXPIRY_DAYS = 180;

export function expiriesOf(rows: readonly ExpirationRecord[]) {
  return [...Map.groupBy(rows, ({ expiresOn }) => expiresOn ?? "")].map(([on, of]) => ({
    on,
    days: of[0]?.daysLeft ?? 0,
    rows: of,
    features: new Set(of.map(featureIdKey)).size,
    seats: lostOf(of),
  }));
}

export function heldOf(site: Site): HolderRow[] {
  const known = countedRows(allHolders(site)).filter(
    ({ kind, since }) => kind === "checkout" && since !== null,
  );
  return sortedHolders(known, "since");
}

/**
 * Groups servers by the most common label, or by manager if no server has a label. Servers without the
 * label are in the group `""`. Groups with problems come first.
 */
export function groupsOf(site: Site) {
  const servers = [...site.values()];
  const names = Map.groupBy(
    servers.flatMap(({ labels }) => Object.keys(labels)),
    (name) => name,
  );
  const [commonest] = [...names].sort(([, a], [, b]) => b.length - a.length).map(([name]) => name);
  const keyOf = (server: KeptServer) =>
    commonest === undefined
      ? server.manager
      : (labelsOf(server).find((label) => label.startsWith(`${commonest}:`)) ?? "");
  return [...Map.groupBy(servers, keyOf)]
    .map(([key, of]) => ({
      key,
      by: commonest === undefined ? "manager" : "label",
      count: of.length,
      troubled: of.filter(isTroubled).length,
      used: sumOfKnown(of.map(({ counts }) => counts.used)),
      total: sumOfKnown(of.map(({ counts }) => counts.total)),
    }))
    .sort((a, b) => b.troubled - a.troubled || b.count - a.count);
}
