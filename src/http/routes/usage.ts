import { Elysia } from "elysia";
import { ApiError } from "../../domain/errors.ts";
import { listBeside, RangeFields, UsageRecord } from "../../domain/history-records.ts";
import { USAGE_KEYS, type UsageKey } from "../../domain/stats/usage.ts";
import { USAGE_ORDERS, type UsageOrder } from "../../store/statistics/usage.ts";
import type { SnapshotFor } from "../anonymous/view.ts";
import { askedServers } from "../answers/asked-servers.ts";
import { chooseFormat } from "../answers/format.ts";
import { listDoc } from "../answers/list.ts";
import { withoutTag } from "../answers/rows.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { gated } from "../exchange.ts";
import { answerOf, askedNow, rangeOf, timezone } from "../history.ts";
import { FIGURES, keyColumns } from "../history-answers/usage.ts";
import { FORMAT, NAMED, names, STORED_PAGE, sortBy, wordList } from "../parameters.ts";
import { queryOf } from "../query.ts";
import { endTime, startTime } from "../query-time.ts";

const THIRTY_DAYS_MS = 30 * 86_400_000;
const MOST_KEYS = 2;

const QUERY = queryOf({
  group_by: wordList(
    USAGE_KEYS,
    "One or two keys of the groups; `feature` is server, daemon and name. Default: user.",
  ),
  ...NAMED,
  user: names("Exact names of users.", "ada"),
  host: names("Names of client hosts, whatever the case.", "ws01"),
  start: startTime("Start of the range. Default: 30 days before the end."),
  end: endTime("End of the range, not in it; a bare date is. Default: now."),
  timezone: timezone("IANA zone of the days."),
  sort: sortBy<UsageOrder>(USAGE_ORDERS),
  ...STORED_PAGE,
  ...FORMAT,
});

/** Who uses what: seat-hours, sessions and peaks by user, host, feature, server, day. */
export function usageRoutes(
  deps: Pick<HttpDeps, "history" | "clock" | "settings" | "live">,
  snapshotFor: SnapshotFor,
) {
  const { history, clock, settings, live } = deps;
  return new Elysia({ name: "routes/usage" }).use(gated).get(
    "/api/licenses/usage",
    async ({ request, exchange }) => {
      const asked = askedNow(clock, live.snapshot());
      const query = QUERY.parse(exchange.query, asked.now);
      const groupBy = checkedKeys(query.group_by ?? ["user"]);
      const sort = checkedSort(query.sort ?? { field: "heldSeatHours", descending: true }, groupBy);
      const format = chooseFormat(query, request.headers.get("accept"));
      const range = rangeOf(query, asked.now, THIRTY_DAYS_MS);
      const asker = { request, caller: exchange.caller };
      await askedServers(history, asker, snapshotFor(exchange), query);
      const { limit, offset } = query;
      return answerOf(history, asker, "usage", {
        ...{ ...asked, ...range, groupBy, sort, limit, offset, format },
        filter: {
          servers: query.server,
          daemons: query.daemon,
          features: query.feature,
          users: query.user,
          hosts: query.host,
        },
        timezone: query.timezone ?? settings().timezone,
        anonymize: exchange.caller?.anonymize === true,
      });
    },
    documented({
      access: "read",
      tag: "Licenses",
      summary: "Who used what: seat-hours, sessions and peaks by group",
      description:
        "Counted over the stored sessions, each for the time in which its seats were held: reserved seats that nobody " +
        "holds are in the `used` of stats, not in here. A session counts from the first reading that has it to the first " +
        "one without it, with the seats that it had last; of the time before licmond looked an imported log alone tells. Where the range begins before sessions are kept, `start` says " +
        "from when on they were counted. Sorted by seat-hours, the most first, unless told otherwise.",
      query: QUERY,
      answers: {
        200: {
          ...withoutTag(listDoc("groups", UsageRecord, "Groups")),
          schema: listBeside("groups", UsageRecord, RangeFields),
        },
      },
      errors: ["NOT_FOUND", "TIMEOUT"],
    }),
  );
}

function checkedKeys(keys: readonly UsageKey[]): readonly UsageKey[] {
  if (keys.length <= MOST_KEYS && new Set(keys).size === keys.length) return keys;
  throw new ApiError(
    "INVALID_QUERY",
    `Query parameter "group_by" got ${keys.length} keys; it takes one or two different ones of ${USAGE_KEYS.join(", ")}.`,
  );
}

function checkedSort<S extends { readonly field: UsageOrder }>(sort: S, keys: readonly UsageKey[]): S {
  const { field } = sort;
  if ([...FIGURES, ...keyColumns(keys)].includes(field)) return sort;
  throw new ApiError(
    "INVALID_QUERY",
    `Query parameter "sort" got "${field}", which the groups have only with group_by=${field}.`,
  );
}
