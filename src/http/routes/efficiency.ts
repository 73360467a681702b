import { Elysia } from "elysia";
import { EfficiencyRecord, listBeside, RangeFields } from "../../domain/history-records.ts";
import type { SnapshotFor } from "../anonymous/view.ts";
import { askedServers } from "../answers/asked-servers.ts";
import { chooseFormat } from "../answers/format.ts";
import { listDoc } from "../answers/list.ts";
import { withoutTag } from "../answers/rows.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { gated } from "../exchange.ts";
import { answerOf, askedNow, rangeOf } from "../history.ts";
import { FORMAT, NAMED, STORED_PAGE } from "../parameters.ts";
import { queryOf } from "../query.ts";
import { endTime, startTime } from "../query-time.ts";

const THIRTY_DAYS_MS = 30 * 86_400_000;

const QUERY = queryOf({
  ...NAMED,
  start: startTime("Start of the range. Default: 30 days before the end."),
  end: endTime("End of the range, not in it; a bare date is. Default: now."),
  ...STORED_PAGE,
  ...FORMAT,
});

/** How busy each seat was, and what other numbers of seats would have meant. */
export function efficiencyRoutes(
  { history, clock, live }: Pick<HttpDeps, "history" | "clock" | "live">,
  snapshotFor: SnapshotFor,
) {
  return new Elysia({ name: "routes/efficiency" }).use(gated).get(
    "/api/licenses/efficiency",
    async ({ request, exchange }) => {
      const asked = askedNow(clock, live.snapshot());
      const query = QUERY.parse(exchange.query, asked.now);
      const format = chooseFormat(query, request.headers.get("accept"));
      const range = rangeOf(query, asked.now, THIRTY_DAYS_MS);
      const asker = { request, caller: exchange.caller };
      await askedServers(history, asker, snapshotFor(exchange), query);
      const { limit, offset } = query;
      return answerOf(history, asker, "efficiency", {
        ...{ ...asked, ...range, limit, offset, format },
        filter: { servers: query.server, daemons: query.daemon, features: query.feature },
      });
    },
    documented({
      access: "read",
      tag: "Licenses",
      summary: "How busy each seat was, and what fewer or more seats would have meant",
      description:
        "With n seats, no more than there are, `saturatedSeconds` is the time in which n or more were in use, and " +
        "`affectedSessions` are those that began when, themselves included, more than n were. With more seats both go by " +
        "the seats in use, plus those that the queue asks for, plus those of each denied request from its first to its " +
        "last attempt (at least 1 s); while somebody waits or is denied that is at least one seat more than there are. " +
        "`affectedSessions` then counts the denied and queued requests, too, for which, themselves included, n were not " +
        "enough. Where `demand` is known from nothing, nothing is said of more seats. CSV has a row for each seat and each " +
        "number of seats that was tried, told apart by `part`; X-Total-Count is that of the features.",
      query: QUERY,
      answers: {
        200: {
          ...withoutTag(listDoc("features", EfficiencyRecord, "Seats of features")),
          schema: listBeside("features", EfficiencyRecord, RangeFields),
        },
      },
      errors: ["NOT_FOUND", "TIMEOUT"],
    }),
  );
}
