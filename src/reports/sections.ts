import type { FeatureId } from "../domain/history.ts";
import { placeLink } from "../domain/page-link.ts";
import { daysLeft } from "../domain/stats/calendar.ts";
import { percentOf } from "../domain/stats/figures.ts";
import { poolExpiries } from "../domain/summary.ts";
import { HOUR_MS } from "../domain/time/clock.ts";
import { dateTime } from "../domain/time/zone.ts";
import type { Unit } from "../domain/words.ts";
import { MOST, type ReportFigures } from "./figures.ts";

/** A table of a report. Its cells are plain text of any names, which the writer makes harmless. */
export interface Section {
  readonly title: string;
  /** What the numbers are, and of which time. */
  readonly about: string;
  /** `>` before a head: a column of numbers. */
  readonly heads: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  readonly notes: readonly string[];
}

/** A text, with what is less important, and where the page shows it; `share` 0–1 is drawn as a bar. */
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

/** The tables of a report, in their order. */
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
  const keyOf = ({ server, daemon, feature }: FeatureId) => JSON.stringify([server, daemon, feature]);
  const coverage = new Map(rows.map((row) => [keyOf(row), row.coverage]));
  const units = new Map(rows.map((row) => [keyOf(row), row.unit]));
  return {
    ...figures,
    /** The time of the numbers, in words. */
    during: `${dateTime(zone, period.start)} to ${dateTime(zone, end)}, ${zone}.`,
    at: (epochMs: number) => dateTime(zone, epochMs),
    nameOf,
    featureCell: ({ server, daemon, feature }: FeatureId) => {
      const link = placeLink(figures.publicUrl, { server, daemon, feature });
      return { main: feature, beside: `${nameOf(server)}, ${daemon}`, link };
    },
    /** What stands in place of no rows, unless nothing is known. */
    ofCounts: (none: string) => (rows.some(({ coverage }) => coverage > 0) ? none : "No counts were read."),
    /** What a feature's counts count. */
    unitOf: (feature: FeatureId): Unit => units.get(keyOf(feature)) ?? "seats",
    coverageOf: (feature: FeatureId) => percent(coverage.get(keyOf(feature)) ?? 0),
  };
}

/** A section of the first rows of a list, `none` in place of no rows; a remark stands below. `total`: of a list that is cut. */
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
  const more = total > MOST ? `${total - MOST} more are not shown.` : "";
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
    `${during} All features of a product together: the seats that people held at once, and the hours for which seats were idle.`,
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
    sums.length === 0 ? "" : `Idle seats cost ${sums.join(" and ")} in the time that was covered.`,
  );
}

function peakSection({ rows, during, featureCell }: Context): Section {
  const fullness = (row: (typeof rows)[number]) => row.peakUtilization ?? -1;
  return table(
    "Peaks against seats",
    `${during} Seats in use, reservations included; the fullest first.`,
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
    `${during} Requests that got no seat, and requests that were queued, as the debug logs tell. A license server that only counts its denials names no feature.`,
    "Feature|>Denied|>Queued|>Coverage",
    denied.toSorted((a, b) => asked(b) - asked(a)),
    (row) => [
      featureCell(row),
      whole(row.denials),
      whole(row.queuedRequests),
      percent(logged.get(row.server) ?? 0),
    ],
    unlogged.length < servers.length ? "What was read tells of none." : "",
    unknownOf("no debug log was read", unlogged),
  );
}

function waitSection({ waits: { rows, total }, during, featureCell, ofCounts }: Context): Section {
  const hours = (seconds: number | null) => decimal(seconds === null ? null : seconds / 3600);
  return table(
    "Waits",
    `${during} How often each feature was full (a gap of up to an hour in the readings does not end such a time), and after how many hours a request at such a time would have had a seat: half of them, 80 %, and the longest; – with fewer than 30 times.`,
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
    `What expires within ${EXPIRY_DAYS} days`,
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
    "Nothing does, of what was read.",
    unknownOf("never read", unread),
  );
}

function unusedSection({ rows, during, featureCell, ofCounts }: Context): Section {
  // A seat that is reserved and held by nobody is not used; where sessions are gone the counts tell.
  const isUnused = (row: (typeof rows)[number]) =>
    row.coverage > 0 && (row.sessions === null ? row.peakUsed === 0 : row.sessions === 0);
  return table(
    "What nobody used",
    `${during} No session was seen in the time that was covered.`,
    "Feature|>Seats|>Coverage",
    rows.filter(isUnused).toSorted((a, b) => (b.total ?? 0) - (a.total ?? 0)),
    (row) => [featureCell(row), amount(row.total, row.unit), percent(row.coverage)],
    ofCounts("Every feature with counts was used."),
  );
}

function holderSection({ holders, end, at, featureCell, coverageOf, unitOf }: Context): Section {
  return table(
    "Who held longest",
    `Checkouts that were open in the period, counted from their beginning to ${at(end)} at the latest.`,
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
    holders === null ? "This report names no people." : "No checkout was seen.",
  );
}

function availabilitySection({ availability, now, during, nameOf, at }: Context): Section {
  return table(
    "Availability of the license servers",
    `${during} Percent of the covered time in which a server answered; for how long of it the server was degraded, without some of its parts; how often it did not answer, and the longest such time, as a whole, with its first day.`,
    "Server|>Available|>Degraded (h)|>Outages|>Longest (h)|>Coverage",
    availability.toSorted((a, b) => (a.availability ?? -1) - (b.availability ?? -1)),
    ({ server, availability: percentage, degradedMs, outages, longest, coverage }) => [
      nameOf(server),
      percentage === null ? UNKNOWN : percent(percentage / 100),
      decimal(coverage === 0 ? null : degradedMs / HOUR_MS),
      // Of a time in which no poll was made nothing is known.
      whole(coverage === 0 && outages === 0 ? null : outages),
      longest === null
        ? UNKNOWN
        : {
            main: decimal(((longest.until ?? now) - longest.from) / HOUR_MS),
            beside: at(longest.from).slice(0, "2026-10-01".length),
          },
      percent(coverage),
    ],
    "No server is in the report.",
  );
}

function unknownOf(why: string, servers: ReportFigures["servers"]): string {
  const names = servers.map(({ server }) => server.name).join(", ");
  return servers.length === 0 ? "" : `Not known, because ${why}: ${names}.`;
}

function whole(value: number | null): string {
  return value === null ? UNKNOWN : Math.round(value).toLocaleString("en-US");
}

/** A count with its unit, unless that is seats, as the head says. */
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
