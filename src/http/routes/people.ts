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
      // Real names: the worker replaces all names by pseudonyms.
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
        "People who hold seats, wait, or did so or were denied while sessions are kept. With `server` or `label`, only " +
        "people of those servers. For an anonymized key, `q` finds pseudonyms only. `[page] people` in the config sets " +
        "the role that is needed.",
      query: QUERY,
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
