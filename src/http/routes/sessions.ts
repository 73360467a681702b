import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { DENIAL_STATES, type DenialLogging } from "../../collector/log-tail/denial-watch.ts";
import { DenialRecord } from "../../domain/denials.ts";
import { SessionRecord } from "../../domain/history-records.ts";
import { nullable, Timestamp, words } from "../../domain/records.ts";
import { iso } from "../../domain/time/clock.ts";
import { SESSION_ORDERS, type SessionOrder } from "../../history/sessions/session-list.ts";
import { DENIAL_SORTS } from "../../store/denial-queries.ts";
import type { SnapshotFor } from "../anonymous/view.ts";
import { listDoc } from "../answers/list.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { gated } from "../exchange.ts";
import { answerOf } from "../history.ts";
import { createHistoryReader } from "../history-query.ts";
import { FORMAT, NAMED, names, STORED_PAGE, sortBy, sortOf } from "../parameters.ts";
import { queryOf } from "../query.ts";
import { endTime, openRange, startTime } from "../query-time.ts";

const FILTER = {
  ...NAMED,
  user: names("Exact names of users.", "ada"),
  host: names("Names of client hosts, whatever the case.", "ws01"),
};
const SESSIONS = queryOf({
  ...FILTER,
  start: startTime("Only sessions that held seats after this."),
  end: endTime("Only sessions that began before this; a bare date takes in its day."),
  sort: sortBy<SessionOrder>(SESSION_ORDERS),
  ...STORED_PAGE,
  ...FORMAT,
});
const DENIALS = queryOf({
  ...FILTER,
  start: startTime("Denials from this time on, by their first attempt."),
  end: endTime("Denials before this time."),
  sort: sortBy(DENIAL_SORTS),
  ...STORED_PAGE,
  ...FORMAT,
});

const Logging = Type.Object(
  {
    server: Type.String(),
    state: words(DENIAL_STATES),
    source: nullable(words(["debug_log", "counters"])),
    since: nullable({ ...Timestamp, description: "Since when without a break" } as typeof Timestamp),
    message: nullable(Type.String({ description: "Why not, and what would help" })),
  },
  { title: "DenialLogging" },
);

/** Who had what and when, who was denied what, and whether denials can be seen at all. */
export function sessionRoutes(
  deps: Pick<HttpDeps, "history" | "clock" | "settings" | "live" | "denials">,
  snapshotFor: SnapshotFor,
) {
  const { history, denials } = deps;
  const read = createHistoryReader(deps, snapshotFor);
  return new Elysia({ name: "routes/sessions" })
    .use(gated)
    .get(
      "/api/licenses/sessions",
      async ({ request, exchange, query }) => {
        const { asker, asked } = await read({ request, exchange, query }, openRange);
        const sort = sortOf(query.sort) ?? { field: "firstSeenAt", descending: true };
        return answerOf(history, asker, "sessions", { ...asked, sort });
      },
      documented({
        access: "read",
        tag: "Licenses",
        summary: "Checkouts over their lifetime, open ones included",
        description: "Those that overlap the range, the newest first unless told otherwise.",
        query: SESSIONS,
        answers: { 200: listDoc("sessions", SessionRecord, "Sessions") },
        errors: ["NOT_FOUND", "TIMEOUT"],
      }),
    )
    .get(
      "/api/licenses/denials",
      async ({ request, exchange, query }) => {
        const { asker, asked, servers } = await read({ request, exchange, query }, openRange);
        const ids = new Set(servers.map(({ server }) => server.id));
        const logging = denials
          .logging()
          .filter(({ server }) => ids.has(server))
          .map((one) => (asked.anonymize ? withoutPaths(one) : one))
          .map(({ since, ...rest }) => ({ ...rest, since: iso(since) }));
        const sort = sortOf(query.sort);
        return answerOf(history, asker, "denials", { ...asked, ...asked.filter, sort, logging });
      },
      documented({
        access: "read",
        tag: "Licenses",
        summary: "Denied requests, newest first",
        description:
          "One row for a user who tries again and again. `logging` says of each server whether denials can be seen and since when: no rows of a server whose logging is off mean nothing.",
        query: DENIALS,
        answers: {
          200: listDoc("denials", DenialRecord, "Denials", { logging: Type.Array(Logging) }),
        },
        errors: ["NOT_FOUND", "TIMEOUT"],
      }),
    );
}

/** Paths of the host are not for everybody. */
function withoutPaths(logging: DenialLogging): DenialLogging {
  return logging.state === "unreadable" ? { ...logging, message: "The debug log cannot be read" } : logging;
}
