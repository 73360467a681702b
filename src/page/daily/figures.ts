import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import type { ExpirationRecord } from "../../domain/records.ts";
import type { FeatureRow, HolderRow, Site } from "../model.ts";
import { allFeatures, allHolders, labelsOf, sortedHolders } from "../model.ts";
import { isTroubled } from "./condition.ts";

/** Totals of a site as `/api/licenses/summary` has them; null where nothing is known. */
interface Figures {
  readonly used: number | null;
  readonly total: number | null;
  /** Who holds seats; null where the viewer is shown no people. */
  readonly people: number | null;
  readonly waiting: number | null;
  readonly features: number;
  /** Features whose numbers are not of their server's last poll. */
  readonly stale: number;
}

export function figuresOf(site: Site): Figures {
  const rows = allFeatures(site);
  const read = rows.map(({ feature }) => feature).filter(({ state }) => state !== "failed");
  const counted = read.filter(({ unlimited }) => !unlimited);
  const holders = allHolders(site).filter(({ kind }) => kind === "checkout");
  const used = sumOf(counted.map((feature) => feature.used));
  return {
    used,
    total: sumOf(counted.map((feature) => feature.total)),
    people: holders.length === 0 && used !== 0 ? null : new Set(holders.map(({ user }) => user)).size,
    waiting: read.length === 0 ? null : (sumOf(read.map(({ queued }) => queued)) ?? 0),
    features: rows.length,
    stale: rows.filter(({ feature }) => feature.state === "stale").length,
  };
}

/** Of what is known; null when nothing is. */
function sumOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}

const NEARLY = 90;

/** Features of which at most a tenth of the seats is free: who waits comes first, then the tightest; old figures last. */
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

/** What expires on one day. */
interface ExpiryDay {
  /** Calendar day. */
  readonly on: string;
  /** Negative = expired. */
  readonly days: number;
  readonly rows: readonly ExpirationRecord[];
  readonly features: number;
  readonly seats: number;
}

export const EXPIRY_DAYS = 180;

/** Licenses in the order of their expiry, by day: a feature may have several, and lose the seats of one. */
export function expiriesOf(rows: readonly ExpirationRecord[]): ExpiryDay[] {
  return [...Map.groupBy(rows, ({ expiresOn }) => expiresOn ?? "")].map(([on, of]) => ({
    on,
    days: of[0]?.daysLeft ?? 0,
    rows: of,
    features: new Set(of.map(({ server, daemon, feature }) => JSON.stringify([server, daemon, feature])))
      .size,
    seats: of.reduce((sum, { total }) => sum + (total ?? 0), 0),
  }));
}

/** Checkouts since the longest; those of which that is not known are left out. */
export function heldOf(site: Site): HolderRow[] {
  const known = allHolders(site).filter(({ kind, since }) => kind === "checkout" && since !== null);
  return sortedHolders(known, "since");
}

/** Servers that share a label, as a row of a table. */
interface ServerGroup {
  /** `location:muc`, or a manager where no server has labels. */
  readonly label: string;
  readonly isLabel: boolean;
  readonly servers: readonly KeptServer[];
  readonly troubled: readonly KeptServer[];
  readonly used: number | null;
  readonly total: number | null;
}

/** By the label that most servers have; those without it are a group of their own (`""`). */
export function groupsOf(site: Site): ServerGroup[] {
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
    .map(([label, of]) => ({
      label,
      isLabel: commonest !== undefined,
      servers: of,
      troubled: of.filter(isTroubled),
      used: sumOf(of.map(({ counts }) => counts.used)),
      total: sumOf(of.map(({ counts }) => counts.total)),
    }))
    .sort((a, b) => b.troubled.length - a.troubled.length || b.servers.length - a.servers.length);
}
