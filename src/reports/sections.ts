import { type FeatureId, featureIdKey } from "../domain/history.ts";
import { placeLink } from "../domain/service/page-link.ts";
import { daysLeft } from "../domain/stats/calendar.ts";
import { percentOf } from "../domain/stats/figures.ts";
import { poolExpiries } from "../domain/summary.ts";
import { HOUR_MS } from "../domain/time/clock.ts";
import { dateTime } from "../domain/time/zone.ts";
import type { Unit } from "../domain/words.ts";
import { MOST, type ReportFigures } from "./figures.ts";

/** Table of a report. Cells are plain text, which the writer escapes. */
export interface Section {
  readonly title: string;
  readonly about: string;
  /** Column heads; `>` marks a column of numbers. */
  readonly heads: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  readonly notes: readonly string[];
}

/** Text of a cell, or a text with a secondary text, a share (0–1, drawn as a bar) or a link to the page. */
export type Cell =
  | string
  | {
      readonly main: string;
      readonly beside?: string;
      readonly share?: number;
      readonly link?: string | null;
    };

const EXPIRY_DAYS = 90;
const UNKNOWN = "–";

export function sectionsOf(figures: ReportFigures): Section[] {
  const context = contextOf(figures);
  return [
    ...(figures.products.length === 0 ? [] : [productSection(context)]),
    peakSection(context),
    denialSection(context),
    waitSection(context),
    expirySection(context),
    unusedSection(context),
    holderSection(context),
    availabilitySection(context),
  ];
}

type Context = ReturnType<typeof contextOf>;

function contextOf(figures: ReportFigures) {
  const { period, end, servers, rows, zone } = figures;
  const names = new Map(servers.map(({ server }) => [server.id, server.name]));
  const nameOf = (server: string) => names.get(server) ?? server;
  const coverage = new Map(rows.map((row) => [featureIdKey(row), row.coverage]));
  const units = new Map(rows.map((row) => [featureIdKey(row), row.unit]));
  return {
    ...figures,
    during: `${dateTime(zone, period.start)} to ${dateTime(zone, end)}, ${zone}.`,
    at: (epochMs: number) => dateTime(zone, epochMs),
    nameOf,
    featureCell: ({ server, daemon, feature }: FeatureId) => {
      const link = placeLink(figures.publicUrl, { server, daemon, feature });
      return { main: feature, beside: `${nameOf(server)}, ${daemon}`, link };
    },
    ofCounts: (none: string) => (rows.some(({ coverage }) => coverage > 0) ? none : "No counts were read."),
    unitOf: (feature: FeatureId): Unit => units.get(featureIdKey(feature)) ?? "seats",
    coverageOf: (feature: FeatureId) => percent(coverage.get(featureIdKey(feature)) ?? 0),
  };
}

/**
 * Creates a section with the first rows of a list and a note below, or with the text `none` if the list is
 * empty. `total` is the length of the full list.
 */
function table<Row>(
  title: string,
  about: string,
  heads: string,
  list: readonly Row[],
  cells: (row: Row) => readonly Cell[],
  none: string,
  remark = "",
  total = list.length,
): Section {
  const more = total > MOST ? `${total - MOST} more not shown.` : "";
  const notes = [list.length === 0 ? none : more, remark].filter(Boolean);
  return { title, about, heads: heads.split("|"), rows: list.slice(0, MOST).map(cells), notes };
}

function productSection({ products, during }: Context): Section {
  const costs = products.filter(({ idleCost }) => idleCost !== null);
  const sums = [...Map.groupBy(costs, ({ currency }) => currency)].map(([currency, list]) => {
    const sum = list.reduce((sum, { idleCost }) => sum + Math.round(idleCost ?? 0), 0);
    return money(sum, currency);
  });
  return table(
    "Products",
    `${during} All features of a product combined: seats held at the same time, and idle seat hours.`,
    "Product|>Seats|>Peak held|>Average|>Idle hours|>Idle cost|>Coverage",
    products,
    (one) => [
      one.product,
      whole(one.total),
      peak(one.peakHeld, one.total),
      decimal(one.averageHeld),
      whole(one.idleSeatHours),
      money(one.idleCost, one.currency),
      percent(one.coverage),
    ],
    "",
    sums.length === 0 ? "" : `Idle seats cost ${sums.join(" and ")} in the covered time.`,
  );
}

function peakSection({ rows, during, featureCell }: Context): Section {
  const fullness = (row: (typeof rows)[number]) => row.peakUtilization ?? -1;
  return table(
    "Peaks against seats",
    `${during} Seats in use, reservations included; fullest first.`,
    "Feature|>Seats|>Peak|>Average|>Hours full|>Users|>Coverage",
    rows.toSorted(
      (a, b) => fullness(b) - fullness(a) || (b.saturatedSeconds ?? 0) - (a.saturatedSeconds ?? 0),
    ),
    (row) => [
      featureCell(row),
      amount(row.total, row.unit),
      peak(row.peakUsed, row.total),
      decimal(row.averageUsed),
      decimal(row.saturatedSeconds === null ? null : row.saturatedSeconds / 3600),
      whole(row.uniqueUsers),
      percent(row.coverage),
    ],
    "No counts were read.",
  );
}

function denialSection({ rows, unnamed, logged, servers, during, featureCell }: Context): Section {
  type Denied = FeatureId & Record<"denials" | "queuedRequests", number | null>;
  const counted = unnamed.map((one) => ({ ...one, feature: "feature unknown", queuedRequests: null }));
  const asked = (row: Denied) => (row.denials ?? 0) + (row.queuedRequests ?? 0);
  const denied: readonly Denied[] = [...rows.filter((row) => asked(row) > 0), ...counted];
  const unlogged = servers.filter(({ server }) => (logged.get(server.id) ?? 0) === 0);
  return table(
    "Denials",
    `${during} Denied and queued requests in the debug logs. License servers that only count denials report no feature.`,
    "Feature|>Denied|>Queued|>Coverage",
    denied.toSorted((a, b) => asked(b) - asked(a)),
    (row) => [
      featureCell(row),
      whole(row.denials),
      whole(row.queuedRequests),
      percent(logged.get(row.server) ?? 0),
    ],
    unlogged.length < servers.length ? "No denials in the logs that were read." : "",
    unknownOf("no debug log was read", unlogged),
  );
}

function waitSection({ waits: { rows, total }, during, featureCell, ofCounts }: Context): Section {
  const hours = (seconds: number | null) => decimal(seconds === null ? null : seconds / 3600);
  return table(
    "Waits",
    `${during} How often each feature was full, and how many hours a request would have waited for a seat: median, 80th percentile and maximum. Gaps of up to an hour between readings are ignored. Features that were full fewer than 30 times show –.`,
    "Feature|>Times full|>Hours full|>Half (h)|>80 % (h)|>Longest (h)|>Coverage",
    rows,
    (row) => [
      featureCell(row),
      whole(row.count),
      hours(row.fullSeconds),
      hours(row.p50Seconds),
      hours(row.p80Seconds),
      hours(row.longestSeconds),
      percent(row.coverage),
    ],
    ofCounts("No feature was full."),
    "",
    total,
  );
}

function expirySection({ servers, now, featureCell, at }: Context): Section {
  const pictures = new Map(servers.map((picture) => [picture.server.id, picture]));
  const unread = servers.filter(({ collectedAt }) => collectedAt === null);
  const pools = poolExpiries(servers).map((pool) => {
    const picture = pictures.get(pool.server);
    const left = daysLeft(pool.expiry, picture?.server.timezone ?? "UTC", now) ?? Number.POSITIVE_INFINITY;
    return { ...pool, left, readAt: picture?.collectedAt ?? null };
  });
  return table(
    `Expiring within ${EXPIRY_DAYS} days`,
    `As of ${at(now)}, by the last good reading of each server.`,
    "Feature|>Seats|>Expires on|>Days left|>Last read",
    pools.filter(({ left }) => left <= EXPIRY_DAYS),
    (pool) => [
      featureCell(pool),
      amount(pool.total, pool.unit),
      pool.expiry.expiresOn ?? UNKNOWN,
      pool.left < 0 ? "expired" : whole(pool.left),
      pool.readAt === null ? UNKNOWN : at(pool.readAt),
    ],
    "Nothing expires, according to the available data.",
    unknownOf("never read", unread),
  );
}

function unusedSection({ rows, during, featureCell, ofCounts }: Context): Section {
  // Count sessions: a feature whose seats were only reserved, never held, is unused. If sessions have been
  // deleted, use the counts.
  const isUnused = (row: (typeof rows)[number]) =>
    row.coverage > 0 && (row.sessions === null ? row.peakUsed === 0 : row.sessions === 0);
  return table(
    "Unused features",
    `${during} No sessions in the covered time.`,
    "Feature|>Seats|>Coverage",
    rows.filter(isUnused).toSorted((a, b) => (b.total ?? 0) - (a.total ?? 0)),
    (row) => [featureCell(row), amount(row.total, row.unit), percent(row.coverage)],
    ofCounts("All features with data were used."),
  );
}

function holderSection({ holders, end, at, featureCell, coverageOf, unitOf }: Context): Section {
  return table(
    "Longest checkouts",
    `Checkouts that were open in the period, from their start until ${at(end)} at most.`,
    "User|Feature|>Seats|>Since|>Until|>Hours|>Coverage",
    holders ?? [],
    (one) => [
      one.host === null ? (one.user ?? UNKNOWN) : { main: one.user ?? UNKNOWN, beside: one.host },
      featureCell(one),
      amount(one.count, unitOf(one)),
      at(one.from).slice(0, "2026-10-01".length),
      at(one.to).slice(0, "2026-10-01".length),
      decimal(one.ms / HOUR_MS),
      coverageOf(one),
    ],
    holders === null ? "This report contains no user names." : "No checkouts.",
  );
}

function availabilitySection({ availability, now, during, nameOf, at }: Context): Section {
  return table(
    "Availability of license servers",
    `${during} Share of the covered time in which a server answered; hours in which it answered but parts of it were down (degraded); number of outages; full length and first day of the longest outage.`,
    "Server|>Available|>Degraded (h)|>Outages|>Longest (h)|>Coverage",
    availability.toSorted((a, b) => (a.availability ?? -1) - (b.availability ?? -1)),
    ({ server, availability: percentage, degradedMs, outages, longest, coverage }) => [
      nameOf(server),
      percentage === null ? UNKNOWN : percent(percentage / 100),
      decimal(coverage === 0 ? null : degradedMs / HOUR_MS),
      // Without polls, the number of outages is unknown.
      whole(coverage === 0 && outages === 0 ? null : outages),
      longest === null
        ? UNKNOWN
        : {
            main: decimal(((longest.until ?? now) - longest.from) / HOUR_MS),
            beside: at(longest.from).slice(0, "2026-10-01".length),
          },
      percent(coverage),
    ],
    "The report contains no servers.",
  );
}

function unknownOf(why: string, servers: ReportFigures["servers"]): string {
  const names = servers.map(({ server }) => server.name).join(", ");
  return servers.length === 0 ? "" : `Unknown, because ${why}: ${names}.`;
}

function whole(value: number | null): string {
  return value === null ? UNKNOWN : Math.round(value).toLocaleString("en-US");
}

function amount(value: number | null, unit: Unit): string {
  return value === null || unit === "seats" ? whole(value) : `${whole(value)} ${unit}`;
}

function decimal(value: number | null): string {
  const digits = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
  return value?.toLocaleString("en-US", digits) ?? UNKNOWN;
}

export function percent(share: number): string {
  return `${percentOf(share)} %`;
}

function peak(most: number | null, total: number | null): Cell {
  if (most === null || total === null || total === 0) return whole(most);
  return { main: whole(most), beside: percent(most / total), share: Math.min(1, most / total) };
}

function money(amount: number | null, currency: string | null): string {
  return amount === null || currency === null ? UNKNOWN : `${whole(amount)} ${currency}`;
}
