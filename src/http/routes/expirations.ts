import { Elysia } from "elysia";
import { placeLink } from "../../domain/page-link.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import { amountOf } from "../../domain/plain-text.ts";
import { ExpirationRecord } from "../../domain/records.ts";
import { type PoolExpiry, poolExpiries } from "../../domain/summary.ts";
import { encode, send } from "../answers/answer.ts";
import { printCalendar } from "../answers/ics.ts";
import { type ListKind, listAnswer, listDoc, sortable } from "../answers/list.ts";
import { documented } from "../docs/documented.ts";
import { gated } from "../exchange.ts";
import { flag, integer, NAMED, queryOf, STORED_LIST, sortBy } from "../query.ts";
import { endTime, type OpenRange, openRange, startTime } from "../query-time.ts";
import { expirationRecords } from "../records.ts";
import type { RouteDeps } from "./deps.ts";

const EXPIRATIONS: ListKind<ExpirationRecord> = {
  plural: "expirations",
  record: ExpirationRecord,
  identity: ["server", "daemon", "feature", "pool"],
};

const FILTER = {
  ...NAMED,
  start: startTime("Only what expires at this time or later."),
  end: endTime("Only what expires before this time; a bare date takes in its day."),
};
const QUERY = queryOf({
  ...FILTER,
  days: integer("Only what expires within so many days, and what has expired.", {
    minimum: 0,
    maximum: 36_500,
  }),
  permanent: flag("Whether pools that never expire are listed too, at the end. Default: false."),
  sort: sortBy(sortable<ExpirationRecord>(ExpirationRecord)),
  ...STORED_LIST,
});

/** What expires when, as a list. */
export function expirationRoutes({ reader }: Pick<RouteDeps, "reader">) {
  return new Elysia({ name: "routes/expirations" }).use(gated).get(
    "/api/licenses/expirations",
    async ({ request, exchange, query }) => {
      const { servers, asked } = await reader.read(exchange, query, openRange);
      const { days = Infinity, sort } = query;
      const found = poolExpiries(servers, query.permanent === true).filter(expiryFilter(asked));
      const rows = expirationRecords(found, servers, asked.now).filter(
        ({ daysLeft }) => (daysLeft ?? Infinity) <= days,
      );
      const { limit, offset } = asked;
      const page = { limit, offset, ...(sort !== undefined && { sort }) };
      return send(request, listAnswer(EXPIRATIONS, rows, page, asked));
    },
    documented("read", "Licenses", "What expires when", {
      description:
        "Every pool that has a date, and with `permanent=true` those that never expire, the soonest first unless told otherwise. Days are counted in the server's zone.",
      query: QUERY,
      answers: { 200: listDoc("expirations", ExpirationRecord, "Expirations") },
    }),
  );
}

/** The expiries of these servers, those of one feature in their order. */
type FindExpiries = (
  servers: readonly ServerPicture[],
  asked: Asked & OpenRange,
) => readonly PoolExpiry[] | Promise<readonly PoolExpiry[]>;

const inPictures: FindExpiries = (servers) => poolExpiries(servers);

/** What expires when, as a calendar. */
export function calendarRoutes(
  { reader, settings }: Pick<RouteDeps, "reader" | "settings">,
  find: FindExpiries = inPictures,
) {
  return new Elysia({ name: "routes/calendar" }).use(gated).get(
    "/api/licenses/expirations.ics",
    async ({ request, exchange, query }) => {
      const { servers, asked } = await reader.read(exchange, query, openRange);
      const expiries = await find(servers, asked);
      return send(request, {
        body: encode(calendarOf(servers, expiries, expiryFilter(asked), settings().publicUrl)),
        headers: {
          "content-type": "text/calendar; charset=utf-8",
          "content-disposition": 'inline; filename="licmond-expirations.ics"',
        },
      });
    },
    documented("calendar", "Licenses", "What expires when, as a calendar to subscribe to", {
      keyInQuery: true,
      description: "RFC 5545: an all-day event for each pool that has a date.",
      query: queryOf(FILTER),
      answers: {
        200: {
          description: "The calendar",
          content: { "text/calendar": { schema: { type: "string" } } },
          headers: { "Content-Disposition": "File name" },
        },
      },
    }),
  );
}

type Asked = Awaited<ReturnType<RouteDeps["reader"]["read"]>>["asked"];

/** Whether an expiry is asked for. What never expires does so before no time. */
function expiryFilter({ filter: { features, daemons }, start, end }: Asked & OpenRange) {
  return ({ feature, daemon, expiry: { expiresAt } }: PoolExpiry): boolean =>
    (features?.includes(feature) ?? true) &&
    (daemons?.includes(daemon) ?? true) &&
    (start === null || (expiresAt ?? Infinity) >= start) &&
    (end === null || (expiresAt ?? Infinity) < end);
}

/** Equal pictures give equal bytes: no days left, and the time of the newest reading as stamp. */
function calendarOf(
  servers: readonly ServerPicture[],
  expiries: readonly PoolExpiry[],
  isAsked: (found: PoolExpiry) => boolean,
  publicUrl: string | null,
): string {
  const nameOf = new Map(servers.map(({ server }) => [server.id, server.name]));
  /** How many pools of a feature came so far: the id of a pool may change with who holds seats of it. */
  const pools = new Map<string, number>();
  return printCalendar({
    name: "License expirations",
    productId: "-//licmond//License expirations//EN",
    stamp: Math.max(0, ...servers.map(({ collectedAt }) => collectedAt ?? 0)),
    events: expiries.flatMap((found) => {
      const { server, daemon, feature, pool, total, expiry, unit } = found;
      const of = JSON.stringify([server, daemon, feature]);
      const ordinal = (pools.get(of) ?? 0) + 1;
      pools.set(of, ordinal);
      if (expiry.expiresOn === null || !isAsked(found)) return [];
      // 128 bits of what names the event: names may hold anything, a UID is plain.
      const identity = JSON.stringify([server, daemon, feature, `${ordinal}`]);
      const digest = Bun.SHA256.hash(identity, "hex");
      const seats = total === null ? "" : ` (${amountOf(total, unit)})`;
      return {
        uid: `${digest.slice(0, 32)}@licmond`,
        day: expiry.expiresOn,
        summary: `${feature}${seats} expires`,
        description: [
          `Server: ${nameOf.get(server) ?? server} (${server})`,
          `Daemon: ${daemon}`,
          `Feature: ${feature}`,
          ...(pool === null ? [] : [`Pool: ${pool}`]),
        ].join("\n"),
        categories: ["License"],
        url: placeLink(publicUrl, found),
      };
    }),
  });
}
