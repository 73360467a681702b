import { Elysia } from "elysia";
import { SessionRecord } from "../../domain/history-records.ts";
import { SESSION_ORDERS, type SessionOrder } from "../../store/statistics/session-list.ts";
import type { SnapshotFor } from "../anonymous/view.ts";
import { askedServers } from "../answers/asked-servers.ts";
import { chooseFormat } from "../answers/format.ts";
import { listDoc } from "../answers/list.ts";
import { withoutTag } from "../answers/rows.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { gated } from "../exchange.ts";
import { answerOf, askedNow } from "../history.ts";
import { FORMAT, NAMED, names, STORED_PAGE, sortBy } from "../parameters.ts";
import { queryOf } from "../query.ts";
import { checkRange, endTime, startTime } from "../query-time.ts";

const QUERY = queryOf({
  ...NAMED,
  user: names("Exact names of users.", "ada"),
  host: names("Names of client hosts, whatever the case.", "ws01"),
  start: startTime("Only sessions that held seats after this."),
  end: endTime("Only sessions that began before this; a bare date takes in its day."),
  sort: sortBy<SessionOrder>(SESSION_ORDERS),
  ...STORED_PAGE,
  ...FORMAT,
});

/** Who had what, when. */
export function sessionRoutes(
  { history, clock, live }: Pick<HttpDeps, "history" | "clock" | "live">,
  snapshotFor: SnapshotFor,
) {
  return new Elysia({ name: "routes/sessions" }).use(gated).get(
    "/api/licenses/sessions",
    async ({ request, exchange }) => {
      const query = QUERY.parse(exchange.query, clock.now());
      const { start, end, limit, offset } = query;
      checkRange(start, end);
      const format = chooseFormat(query, request.headers.get("accept"));
      const asker = { request, caller: exchange.caller };
      await askedServers(history, asker, snapshotFor(exchange), query);
      return answerOf(history, asker, "sessions", {
        ...{ ...askedNow(clock, live.snapshot()), start, end, limit, offset, format },
        filter: {
          servers: query.server,
          daemons: query.daemon,
          features: query.feature,
          users: query.user,
          hosts: query.host,
        },
        sort: query.sort ?? { field: "firstSeenAt", descending: true },
        anonymize: exchange.caller?.anonymize === true,
      });
    },
    documented({
      access: "read",
      tag: "Licenses",
      summary: "Checkouts over their lifetime, open ones included",
      description: "Those that overlap the range, the newest first unless told otherwise.",
      query: QUERY,
      answers: { 200: withoutTag(listDoc("sessions", SessionRecord, "Sessions")) },
      errors: ["NOT_FOUND", "TIMEOUT"],
    }),
  );
}
