import { Elysia } from "elysia";
import { printCalendar } from "../../domain/ics.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import { ExpirationRecord } from "../../domain/records.ts";
import { type PoolExpiry, poolExpiries } from "../../domain/summary.ts";
import type { SnapshotFor } from "../anonymous/view.ts";
import { encode, send } from "../answers/answer.ts";
import { type ListKind, listAnswer, listDoc, sortable } from "../answers/list.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { gated } from "../exchange.ts";
import { createHistoryReader } from "../history-query.ts";
import { FORMAT, flag, integer, NAMED, STORED_PAGE, sortBy, sortOf } from "../parameters.ts";
import { queryOf } from "../query.ts";
import { endTime, openRange, startTime } from "../query-time.ts";
import { expirationRecord } from "../records/to-records.ts";

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
  days: integer("Only what expires within so many days; expired ones are told too.", {
    minimum: 0,
    maximum: 36_500,
  }),
  permanent: flag("Whether pools that never expire are listed too, at the end. Default: false."),
  sort: sortBy(sortable<ExpirationRecord>(ExpirationRecord)),
  ...STORED_PAGE,
  ...FORMAT,
});
const CALENDAR = queryOf(FILTER);

/** What expires when, as a list and as a calendar. */
export function expirationRoutes(
  deps: Pick<HttpDeps, "clock" | "history" | "settings" | "live">,
  snapshotFor: SnapshotFor,
) {
  const read = createHistoryReader(deps, snapshotFor);
  return new Elysia({ name: "routes/expirations" })
    .use(gated)
    .get(
      "/api/licenses/expirations",
      async ({ request, exchange, query }) => {
        const { servers, asked } = await read({ request, exchange, query }, openRange);
        const zones = new Map(servers.map(({ server }) => [server.id, server.timezone]));
        const { days } = query;
        const rows = matching(servers, asked, query.permanent === true)
          .map((found) => expirationRecord(found, zones.get(found.server) ?? "UTC", asked.now))
          .filter((row) => days === undefined || (row.daysLeft !== null && row.daysLeft <= days));
        const { limit, offset, format } = asked;
        const page = { sort: sortOf(query.sort), limit, offset };
        return send(request, listAnswer(EXPIRATIONS, rows, page, format));
      },
      documented({
        access: "read",
        tag: "Licenses",
        summary: "What expires when",
        description:
          "Every pool that has a date, and with `permanent=true` those that never expire, the soonest first unless told otherwise. Days are counted in the server's zone.",
        query: QUERY,
        answers: { 200: listDoc("expirations", ExpirationRecord, "Expirations") },
        errors: ["NOT_FOUND"],
      }),
    )
    .get(
      "/api/licenses/expirations.ics",
      async ({ request, exchange, query }) => {
        const { servers, asked } = await read({ request, exchange, query }, openRange);
        return send(request, {
          body: encode(calendarOf(servers, matching(servers, asked))),
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

interface Wanted {
  readonly filter: {
    readonly features: readonly string[] | null;
    readonly daemons: readonly string[] | null;
  };
  readonly start: number | null;
  readonly end: number | null;
}

function matching(
  servers: readonly ServerPicture[],
  { filter: { features, daemons }, start, end }: Wanted,
  permanent = false,
): NumberedExpiry[] {
  return numbered(poolExpiries(servers, permanent)).filter((found) => {
    if (features !== null && !features.includes(found.feature)) return false;
    if (daemons !== null && !daemons.includes(found.daemon)) return false;
    const { expiresAt } = found.expiry;
    // What never expires does so before no time.
    return (
      (start === null || (expiresAt ?? Infinity) >= start) && (end === null || (expiresAt ?? Infinity) < end)
    );
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
