import { Elysia } from "elysia";
import { printCalendar } from "../../domain/ics.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import { ExpirationRecord } from "../../domain/records.ts";
import { type PoolExpiry, poolExpiries } from "../../domain/summary.ts";
import type { SnapshotFor } from "../anonymous/view.ts";
import { encode } from "../answers/answer.ts";
import { chooseFormat } from "../answers/format.ts";
import { send } from "../answers/gzip.ts";
import { namedServers } from "../answers/known-servers.ts";
import { type ListKind, listAnswer, listDoc } from "../answers/list.ts";
import { sortable } from "../answers/order.ts";
import { withoutTag } from "../answers/rows.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import type { Exchanges } from "../exchange.ts";
import { FORMAT, integer, names, STORED_PAGE, sortBy, wholeNames } from "../parameters.ts";
import { type QueryOf, queryOf } from "../query.ts";
import { checkRange, endTime, startTime } from "../query-time.ts";
import { expirationRecord } from "../records/summary-record.ts";

const EXPIRATIONS: ListKind<ExpirationRecord> = {
  plural: "expirations",
  record: ExpirationRecord,
  identity: ["server", "daemon", "feature", "pool"],
};

const FILTER = {
  feature: wholeNames("Exact name of the feature; may be repeated.", "solver"),
  server: names("Ids of servers. An unknown one is 404.", "eda"),
  start: startTime("Only what expires at this time or later."),
  end: endTime("Only what expires before this time; a bare date takes in its day."),
};
const QUERY = queryOf({
  ...FILTER,
  days: integer("Only what expires within so many days; expired ones are told too.", {
    ...{ minimum: 0, maximum: 36_500, absent: null },
  }),
  sort: sortBy(sortable<ExpirationRecord>(ExpirationRecord)),
  ...STORED_PAGE,
  ...FORMAT,
});
const CALENDAR = queryOf(FILTER);
type Filter = QueryOf<typeof CALENDAR>;

/** What expires when, as a list and as a calendar. */
export function expirationRoutes(
  { clock }: Pick<HttpDeps, "clock">,
  snapshotFor: SnapshotFor,
  exchanges: Exchanges,
) {
  return new Elysia({ name: "routes/expirations" })
    .get(
      "/api/licenses/expirations",
      ({ request }) => {
        const exchange = exchanges.of(request);
        const query = QUERY.parse(exchange.query);
        const format = chooseFormat(query, request.headers.get("accept"));
        const servers = namedServers(snapshotFor(exchange), query.server);
        const zones = new Map(servers.map(({ server }) => [server.id, server.timezone]));
        const now = clock.now();
        const rows = matching(servers, query)
          .map((found) => expirationRecord(found, zones.get(found.server) ?? "UTC", now))
          .filter((row) => query.days === null || (row.daysLeft !== null && row.daysLeft <= query.days));
        return send(request, listAnswer(EXPIRATIONS, rows, query, format));
      },
      documented({
        access: "read",
        tag: "Licenses",
        summary: "What expires when",
        description:
          "Every pool that has a date, the soonest first unless told otherwise. Days are counted in the server's zone.",
        query: QUERY,
        answers: { 200: withoutTag(listDoc("expirations", ExpirationRecord, "Expirations")) },
        errors: ["NOT_FOUND"],
      }),
    )
    .get(
      "/api/licenses/expirations.ics",
      ({ request }) => {
        const exchange = exchanges.of(request);
        const query = CALENDAR.parse(exchange.query);
        const servers = namedServers(snapshotFor(exchange), query.server);
        return send(request, {
          body: encode(calendarOf(servers, matching(servers, query))),
          headers: {
            "content-type": "text/calendar; charset=utf-8",
            "content-disposition": 'inline; filename="licmond-expirations.ics"',
          },
        });
      },
      documented({
        access: "calendar",
        tag: "Licenses",
        keyInQuery: true,
        summary: "What expires when, as a calendar to subscribe to",
        description: "RFC 5545: an all-day event for each pool that has a date.",
        query: CALENDAR,
        answers: {
          200: {
            description: "The calendar",
            content: { "text/calendar": { schema: { type: "string" } } },
            headers: { "Content-Disposition": "File name" },
          },
        },
        errors: ["NOT_FOUND"],
      }),
    );
}

function matching(servers: readonly ServerPicture[], { feature, start, end }: Filter): NumberedExpiry[] {
  checkRange(start, end);
  return numbered(poolExpiries(servers)).filter(({ feature: name, expiry: { expiresAt } }) => {
    if (expiresAt === null || (feature !== null && !feature.includes(name))) return false;
    return (start === null || expiresAt >= start) && (end === null || expiresAt < end);
  });
}

/** Which of its feature's pools it is, by their expiry: the id of a pool may change with who holds seats of it. */
interface NumberedExpiry extends PoolExpiry {
  readonly ordinal: number;
}

function numbered(soonestFirst: readonly PoolExpiry[]): NumberedExpiry[] {
  const ordinals = new Map<string, number>();
  return soonestFirst.map((found) => {
    const key = JSON.stringify([found.server, found.daemon, found.feature]);
    const ordinal = (ordinals.get(key) ?? 0) + 1;
    ordinals.set(key, ordinal);
    return { ...found, ordinal };
  });
}

/** Equal pictures give equal bytes: no days left, and the time of the newest reading as stamp. */
function calendarOf(servers: readonly ServerPicture[], found: readonly NumberedExpiry[]): string {
  const stamp = servers.reduce((latest, { collectedAt }) => Math.max(latest, collectedAt ?? 0), 0);
  const nameOf = new Map(servers.map(({ server }) => [server.id, server.name]));
  return printCalendar({
    name: "License expirations",
    productId: "-//licmond//License expirations//EN",
    stamp,
    events: found.flatMap(({ server, daemon, feature, pool, ordinal, total, expiry }) => {
      const seats = total === null ? "" : ` (${total} ${total === 1 ? "seat" : "seats"})`;
      if (expiry.expiresOn === null) return [];
      return {
        uid: uidOf([server, daemon, feature, `${ordinal}`]),
        day: expiry.expiresOn,
        summary: `${feature}${seats} expires`,
        description: [
          `Server: ${nameOf.get(server) ?? server} (${server})`,
          `Daemon: ${daemon}`,
          `Feature: ${feature}`,
          ...(pool === null ? [] : [`Pool: ${pool}`]),
        ].join("\n"),
        categories: ["License"],
      };
    }),
  });
}

/** 128 bits of what names the event: names may hold anything, a UID is plain. */
function uidOf(identity: readonly string[]): string {
  const digest = new Bun.CryptoHasher("sha256").update(JSON.stringify(identity)).digest("hex");
  return `${digest.slice(0, 32)}@licmond`;
}
