import { Elysia } from "elysia";
import type { ServerPicture } from "../../domain/picture.ts";
import { amountOf } from "../../domain/plain-text.ts";
import { placeLink } from "../../domain/service/page-link.ts";
import type { PoolExpiry } from "../../domain/summary.ts";
import { encode, send } from "../answers/answer.ts";
import { printCalendar } from "../answers/ics.ts";
import { documented } from "../docs/documented.ts";
import { gated } from "../exchange.ts";
import type { Lists } from "../lists/lists.ts";
import { NAMED, queryOf } from "../query.ts";
import { endTime, type OpenRange, openRange, startTime } from "../query-time.ts";
import type { RouteDeps } from "./deps.ts";

const FILTER = {
  ...NAMED,
  start: startTime("Only what expires at this time or later."),
  end: endTime("Only what expires before this time; a bare date takes in its day."),
};
/** Serves expirations as a calendar. */
export function calendarRoutes(
  { reader, settings }: Pick<RouteDeps, "reader" | "settings">,
  lists: Pick<Lists, "expiries">,
) {
  return new Elysia({ name: "routes/calendar" }).use(gated).get(
    "/api/licenses/expirations.ics",
    async ({ request, exchange, query }) => {
      const { servers, asked } = await reader.read(exchange, query, openRange);
      const expiries = await lists.expiries(servers);
      return send(request, {
        body: encode(calendarOf(servers, expiries, expiryFilter(asked), settings().publicUrl)),
        headers: {
          "content-type": "text/calendar; charset=utf-8",
          "content-disposition": 'inline; filename="licmond-expirations.ics"',
        },
      });
    },
    documented("calendar", "Licenses", "Expiries as a calendar to subscribe to", {
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

/** Reports whether an expiry matches. Permanent licenses match no range. */
export function expiryFilter({ filter: { features, daemons }, start, end }: Asked & OpenRange) {
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
