import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { DenialRecord, LoggingRecord } from "../../domain/denials.ts";
import { PERSON_KINDS, PersonRecord, SessionRecord } from "../../domain/history-records.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import { iso } from "../../domain/time/clock.ts";
import type { Seen } from "../../history/sessions/people.ts";
import type { SessionOrder } from "../../history/sessions/session-order.ts";
import { DENIAL_SORTS } from "../../store/denial-queries.ts";
import type { Formatted } from "../answers/answer.ts";
import { listDoc, sortable, sortOf, withSite } from "../answers/list.ts";
import { documented } from "../docs/documented.ts";
import { gated } from "../exchange.ts";
import { NAMED, PEOPLE, queryOf, STORED_LIST, sortBy, text, wordList } from "../query.ts";
import { endTime, openRange, startTime } from "../query-time.ts";
import type { RouteDeps } from "./deps.ts";

const SESSIONS = queryOf({
  ...NAMED,
  ...PEOPLE,
  start: startTime("Only sessions that held seats after this time."),
  end: endTime("Only sessions that began before this time; a bare date includes its day."),
  sort: sortBy(sortable<Pick<SessionRecord, SessionOrder>>(SessionRecord)),
  ...STORED_LIST,
});
const DENIALS = queryOf({
  ...NAMED,
  ...PEOPLE,
  start: startTime("Denials whose first attempt was at this time or later."),
  end: endTime("Denials before this time."),
  sort: sortBy(DENIAL_SORTS),
  ...STORED_LIST,
});

export function sessionRoutes({ denials, reader }: RouteDeps) {
  /**
   * Returns whether denials of these servers can be seen. Paths of the host are hidden from anonymized
   * keys.
   */
  function loggingOf(
    ids: readonly string[],
    { anonymize, ofSite }: { readonly anonymize: boolean } & Pick<Formatted, "ofSite">,
  ) {
    const found = denials.logging().filter(({ server }) => ids.includes(server));
    return found.map(({ since, message, ...logging }) => ({
      ...withSite(logging, ofSite),
      message: anonymize && logging.state === "unreadable" ? "The debug log cannot be read" : message,
      since: iso(since),
    }));
  }

  return new Elysia({ name: "routes/sessions" })
    .use(gated)
    .get(
      "/api/licenses/sessions",
      async ({ exchange, query }) => {
        const { asked } = await reader.read(exchange, query, openRange);
        const sort = sortOf<SessionOrder>(query.sort) ?? { field: "firstSeenAt", descending: true };
        return reader.answer(exchange, "sessions", { ...asked, sort });
      },
      documented("holders", "Licenses", "Checkouts over their lifetime, including open ones", {
        description: "Sessions that overlap the range, newest first by default.",
        query: SESSIONS,
        answers: { 200: listDoc("sessions", SessionRecord, "Sessions") },
        errors: ["TIMEOUT"],
      }),
    )
    .get(
      "/api/licenses/denials",
      async ({ exchange, query }) => {
        const { asked, servers } = await reader.read(exchange, query, openRange);
        const ids = servers.map(({ server }) => server.id);
        const logging = loggingOf(ids, asked);
        const question = { ...asked, ...asked.filter, sort: sortOf(query.sort), logging };
        return reader.answer(exchange, "denials", question);
      },
      documented("holders", "Licenses", "Denied requests, newest first", {
        description:
          "Repeated attempts of a user share a row. `logging` shows whether and since when denials of each server are visible; for other times, an empty list does not mean that there were no denials.",
        query: DENIALS,
        answers: { 200: listDoc("denials", DenialRecord, "Denials", { logging: Type.Array(LoggingRecord) }) },
        errors: ["TIMEOUT"],
      }),
    );
}

const PEOPLE_SEEN = queryOf({
  q: text("Part of the name; case is ignored.", "ada"),
  kind: wordList(PERSON_KINDS, "Users, hosts."),
  server: NAMED.server,
  label: NAMED.label,
  start: startTime("Only people seen at this time or later. Default: since the oldest stored session."),
  sort: sortBy(sortable<PersonRecord>(PersonRecord)),
  ...STORED_LIST,
});

export function peopleRoutes({ reader, live }: RouteDeps) {
  return new Elysia({ name: "routes/people" }).use(gated).get(
    "/api/licenses/people",
    async ({ exchange, query }) => {
      const { asked, servers } = await reader.read(exchange, query, openRange);
      const ids = new Set(servers.map(({ server }) => server.id));
      // Use real names here, because the worker replaces all names by pseudonyms.
      const pictures = live.snapshot().servers.filter(({ server }) => ids.has(server.id));
      return reader.answer(exchange, "people", {
        ...asked,
        q: query.q ?? "",
        kinds: query.kind ?? null,
        live: pictures.flatMap(notInSessions),
        sort: sortOf(query.sort) ?? { field: "lastSeenAt", descending: true },
      });
    },
    documented("people", "Licenses", "Users and hosts, last seen first", {
      description:
        "Users and hosts that hold seats or wait, and those that held seats, waited or were denied while sessions are kept. " +
        "With `server` or `label`, only those of the named servers. For an anonymized key, `q` finds pseudonyms only. " +
        "`[page] people` in the config sets the required role.",
      query: PEOPLE_SEEN,
      answers: { 200: listDoc("people", PersonRecord, "Users and hosts") },
      errors: ["TIMEOUT"],
    }),
  );
}

/** Returns people who wait, or whose session is not stored yet. */
function notInSessions({ features }: ServerPicture): Seen[] {
  return features.flatMap(({ checkouts, queue, collectedAt }) =>
    [...checkouts.filter(({ session }) => session === undefined), ...queue].flatMap(
      ({ user, host }): Seen[] => [
        { kind: "user", name: user ?? "", lastSeenAt: collectedAt ?? 0 },
        { kind: "host", name: host ?? "", lastSeenAt: collectedAt ?? 0 },
      ],
    ),
  );
}
