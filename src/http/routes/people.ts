import { Elysia } from "elysia";
import { PERSON_KINDS, PersonRecord } from "../../domain/history-records.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import type { Seen } from "../../history/sessions/people.ts";
import { listDoc, sortable, sortOf } from "../answers/list.ts";
import { documented } from "../docs/documented.ts";
import { gated } from "../exchange.ts";
import { NAMED, queryOf, STORED_LIST, sortBy, text, wordList } from "../query.ts";
import { openRange, startTime } from "../query-time.ts";
import type { RouteDeps } from "./deps.ts";

const QUERY = queryOf({
  q: text("Part of the name, in any case.", "ada"),
  kind: wordList(PERSON_KINDS, "Users, hosts."),
  server: NAMED.server,
  label: NAMED.label,
  start: startTime(
    "Only those who were seen at this time or later. Default: as far back as sessions are kept.",
  ),
  sort: sortBy(sortable<PersonRecord>(PersonRecord)),
  ...STORED_LIST,
});

/** Users and hosts, now and as far back as history goes. */
export function peopleRoutes({ reader, live }: RouteDeps) {
  return new Elysia({ name: "routes/people" }).use(gated).get(
    "/api/licenses/people",
    async ({ exchange, query }) => {
      const { asked, servers } = await reader.read(exchange, query, openRange);
      const ids = new Set(servers.map(({ server }) => server.id));
      // Under their real names: the worker makes pseudonyms of all alike.
      const pictures = live.snapshot().servers.filter(({ server }) => ids.has(server.id));
      return reader.answer(exchange, "people", {
        ...asked,
        q: query.q ?? "",
        kinds: query.kind ?? null,
        live: pictures.flatMap(notInSessions),
        sort: sortOf(query.sort) ?? { field: "lastSeenAt", descending: true },
      });
    },
    documented("people", "Licenses", "Users and hosts seen, the last seen first", {
      description:
        "All who hold seats, wait, or have held seats or been denied as long as sessions are kept: with `server` or " +
        "`label` those of these. `q` of an anonymized key finds pseudonyms, never names. `[page] people` in the " +
        "config says from which role this is answered.",
      query: QUERY,
      answers: { 200: listDoc("people", PersonRecord, "Users and hosts") },
      errors: ["TIMEOUT"],
    }),
  );
}

/** People who wait, or whose session is not stored yet. */
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
