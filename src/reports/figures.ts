import type { ServerPicture } from "../domain/picture.ts";
import { hasLabels, type Labels } from "../domain/server.ts";
import type { Session } from "../domain/session.ts";
import { shareOf } from "../domain/stats/figures.ts";
import { type Asked, holdingsAt } from "../domain/stats/held-seats.ts";
import type { Product } from "../domain/stats/products.ts";
import { availabilityOf, outagesOf, statusMs } from "../history/outages.ts";
import type { Range, Reader } from "../history/reader.ts";
import { sessionsOverlapping } from "../history/session-reader.ts";
import { SESSION_COLUMNS } from "../history/sessions/sessions.ts";
import { productFigures } from "../history/statistics/products.ts";
import { statsQuery } from "../history/statistics/stats.ts";
import { waitsQuery } from "../history/statistics/waits.ts";
import { type SessionFilter, sessionCondition } from "../store/conditions.ts";
import type { Period } from "./period.ts";

export interface ReportRequest {
  readonly period: Period;
  /** Current time in epoch ms. A period that is not over ends here. */
  readonly now: number;
  readonly zone: string;
  readonly servers: readonly ServerPicture[];
  readonly products: readonly Product[];
  /** Labels of the reported servers. A server must have all of them. */
  readonly labels: Labels;
  readonly anonymize: boolean;
  readonly publicUrl: string | null;
}

interface ReportAsked extends Range, Asked, Pick<ReportRequest, "products" | "anonymize"> {
  readonly filter: SessionFilter & { readonly servers: readonly string[] };
}

const ALL = { interval: null, timezone: "UTC", series: false, sort: null, limit: null, offset: 0 };
const LONGEST = 10;
export const MOST = 30;
const LONGEST_OUTAGE = {
  statuses: ["down", "unknown"],
  sort: { field: "durationSeconds", descending: true },
  limit: 1,
  offset: 0,
} as const;
const BY_FULL = { field: "fullSeconds", descending: true } as const;

export const REPORT_QUERIES = {
  async report(read: Reader, asked: ReportAsked) {
    const { start, end, products, anonymize } = asked;
    const { servers } = asked.filter;
    const { rows } = await statsQuery(read, { ...asked, ...ALL });
    const logged = servers.map((id) => [id, shareOf(read.loggedMs(id, start, end), end - start)] as const);
    const product = products.map(({ name }) => name);
    return {
      rows,
      logged: new Map(logged),
      products: await productFigures(read, { ...asked, product }),
      waits: await waitsQuery(read, { ...asked, sort: BY_FULL, limit: MOST, offset: 0 }),
      unnamed: unnamedDenials(read, asked),
      availability: servers.map((id) => outagesAt(read, id, asked)),
      holders: anonymize ? null : longestHolders(read, asked),
    };
  },
};
export type ReportQueries = typeof REPORT_QUERIES;

function outagesAt(read: Reader, server: string, { start, end }: Range) {
  const { rows, total } = outagesOf(read, { ...LONGEST_OUTAGE, start, end, servers: [server] });
  const degradedMs = statusMs(read, server, { start, end }).degraded;
  const known = availabilityOf(read, server, { start, end });
  return { ...known, degradedMs, outages: total, longest: rows[0] ?? null };
}

/** Returns the number of denials of each daemon that the license server counted without naming a feature. */
function unnamedDenials(read: Reader, { start, end, filter }: ReportAsked) {
  return read
    .all<{ server: string; daemon: string; denials: number }>(
      `SELECT server_id AS server, daemon, sum(count) AS denials FROM denials INDEXED BY denials_by_feature
       WHERE feature = '' AND at >= ? AND at < ? AND outcome = 'denied' GROUP BY 1, 2`,
      start,
      end,
    )
    .filter(({ server }) => filter.servers.includes(server));
}

function longestHolders(read: Reader, asked: ReportAsked) {
  const { start, end, now } = asked;
  const { sql, values } = sessionsOverlapping(
    SESSION_COLUMNS,
    sessionCondition(asked.filter),
    start,
    end,
    now,
  );
  const rows = read.all<Session>(
    `SELECT * FROM ${sql} ORDER BY min(coalesce(endedAt, ?), ?) - beganAt DESC, id LIMIT ?`,
    ...values,
    end,
    end,
    // The order uses stored times. The real end of an open session is its server's last reading, which is
    // looked up below and may be before the range, hence the larger limit.
    LONGEST * 10,
  );
  const { holdingOf, shownBegin } = holdingsAt(read.lastReadings(), asked);
  return rows
    .map((session) => {
      const { server, daemon, feature, user, host, count } = session;
      const [from, to] = [shownBegin(session), Math.min(holdingOf(session).to, end)];
      return { server, daemon, feature, user, host, count, from, to, ms: to - from };
    })
    .filter(({ to }) => to > start)
    .sort((a, b) => b.ms - a.ms)
    .slice(0, LONGEST);
}

export type ReportFigures = Awaited<ReturnType<typeof readFigures>>;

export async function readFigures(
  ask: (asked: ReportAsked) => ReturnType<ReportQueries["report"]>,
  { products, labels, anonymize, ...request }: ReportRequest,
) {
  const { period, now } = request;
  const servers = request.servers.filter(({ server }) => hasLabels(server.labels, labels));
  const ids = servers.map(({ server }) => server.id);
  const filter = { servers: ids, daemons: null, features: null, users: null, hosts: null };
  const intervals = Object.fromEntries(servers.map(({ server }) => [server.id, server.intervalMs]));
  const [start, end] = [period.start, Math.min(period.end, now)];
  const known = await ask({ start, end, now, intervals, filter, products, anonymize });
  // With labels, skip products that only other servers have.
  const isOfAll = Object.keys(labels).length === 0;
  const own = known.products.filter(({ features }) => isOfAll || features > 0);
  return { ...request, labels, end, servers, ...known, products: own };
}
