import { Elysia } from "elysia";
import { featureIdKey } from "../../domain/history.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import { amountOf } from "../../domain/plain-text.ts";
import { placeLink } from "../../domain/service/page-link.ts";
import type { PoolExpiry } from "../../domain/summary.ts";
import { DAY_MS, iso } from "../../domain/time/clock.ts";
import { encode, send } from "../answers/answer.ts";
import { documented } from "../docs/documented.ts";
import { gated } from "../exchange.ts";
import type { Lists } from "../lists/lists.ts";
import { NAMED, queryOf } from "../query.ts";
import { endTime, type OpenRange, openRange, startTime } from "../query-time.ts";
import type { RouteDeps } from "./deps.ts";

const FILTER = {
  ...NAMED,
  start: startTime("Only licenses that expire at this time or later."),
  end: endTime("Only licenses that expire before this time; a bare date includes its day."),
};
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
    documented("calendar", "Licenses", "Calendar of expirations to subscribe to", {
      keyInQuery: true,
      description: "RFC 5545: an all-day event for each pool with an expiry date.",
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

/** Prints no days left, and uses the time of the newest reading, so that equal pictures give equal bytes. */
function calendarOf(
  servers: readonly ServerPicture[],
  expiries: readonly PoolExpiry[],
  isAsked: (found: PoolExpiry) => boolean,
  publicUrl: string | null,
): string {
  const nameOf = new Map(servers.map(({ server }) => [server.id, server.name]));
  /**
   * Pools numbered so far, by feature. Events are identified by this number, because a pool's id may change
   * with its checkouts.
   */
  const pools = new Map<string, number>();
  return printCalendar({
    name: "License expirations",
    productId: "-//licmond//License expirations//EN",
    stamp: Math.max(0, ...servers.map(({ collectedAt }) => collectedAt ?? 0)),
    events: expiries.flatMap((found) => {
      const { server, daemon, feature, pool, total, expiry, unit } = found;
      const of = featureIdKey(found);
      const ordinal = (pools.get(of) ?? 0) + 1;
      pools.set(of, ordinal);
      if (expiry.expiresOn === null || !isAsked(found)) return [];
      // A digest of 128 bits, because names may contain any text.
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

/** An all-day event of an RFC 5545 calendar. */
interface AllDayEvent {
  /** A calendar program updates the event with the same uid. */
  readonly uid: string;
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly summary: string;
  readonly description: string;
  readonly categories: readonly string[];
  /** Absolute ASCII URL or null. */
  readonly url: string | null;
}

interface Calendar {
  readonly name: string;
  /** Identifies the program that made the calendar: `-//…//…//EN` (RFC 5545 3.7.3). */
  readonly productId: string;
  /** Time at which the events were known, epoch ms: DTSTAMP of each (3.8.7.2). */
  readonly stamp: number;
  readonly events: readonly AllDayEvent[];
}

/** Maximum length of a line in octets, without its CRLF (3.1). */
const MAX_OCTETS = 75;
const encoder = new TextEncoder();

/** Returns an iCalendar object with CRLF line ends and folded lines. */
export function printCalendar({ name, productId, stamp, events }: Calendar): string {
  const lines = [
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    `PRODID:${escapeText(productId)}`,
    "CALSCALE:GREGORIAN",
    "METHOD:PUBLISH",
    `X-WR-CALNAME:${escapeText(name)}`,
    ...events.flatMap((event) => eventLines(event, stamp)),
    "END:VCALENDAR",
  ];
  return lines.map((line) => `${fold(line)}\r\n`).join("");
}

function eventLines(
  { uid, day, summary, description, categories, url }: AllDayEvent,
  stamp: number,
): string[] {
  return [
    "BEGIN:VEVENT",
    `UID:${escapeText(uid)}`,
    `DTSTAMP:${compact(iso(stamp).slice(0, 19))}Z`,
    `DTSTART;VALUE=DATE:${compact(day)}`,
    // Exclusive (3.6.1).
    `DTEND;VALUE=DATE:${compact(dayAfter(day))}`,
    `SUMMARY:${escapeText(summary)}`,
    `DESCRIPTION:${escapeText(description)}`,
    ...(categories.length > 0 ? [`CATEGORIES:${categories.map(escapeText).join(",")}`] : []),
    ...(url === null ? [] : [`URL:${url}`]),
    // The event blocks no time in the calendar.
    "TRANSP:TRANSPARENT",
    "END:VEVENT",
  ];
}

/** Escapes a TEXT value (3.3.11) and drops control characters except TAB (3.1). */
export function escapeText(text: string): string {
  return text
    .replaceAll("\\", "\\\\")
    .replaceAll(";", "\\;")
    .replaceAll(",", "\\,")
    .replace(/\r\n|[\r\n]/g, "\\n")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "")
    .toWellFormed();
}

/** Folds a line at 75 octets between characters (3.1). */
export function fold(line: string): string {
  let folded = "";
  let octets = 0;
  for (const character of line) {
    const size = encoder.encode(character).length;
    if (octets + size > MAX_OCTETS) {
      folded += "\r\n ";
      octets = 1;
    }
    folded += character;
    octets += size;
  }
  return folded;
}

function compact(time: string): string {
  return time.replace(/[-:]/g, "");
}

function dayAfter(day: string): string {
  return new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10);
}
