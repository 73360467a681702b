import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { DENIAL_STATES, type DenialLogging } from "../../collector/log-tail/denial-watch.ts";
import { iso } from "../../domain/clock.ts";
import { type Denial, DenialRecord, denialRecord } from "../../domain/denials.ts";
import { nullable, Timestamp, words } from "../../domain/records.ts";
import { DENIAL_SORTS, type DenialPage, type DenialQuery } from "../../store/denial-queries.ts";
import type { Pseudonyms } from "../anonymous/pseudonyms.ts";
import { encode } from "../answers/answers.ts";
import { columnsOf, toCsv } from "../answers/csv.ts";
import { chooseFormat, type Format } from "../answers/format.ts";
import { namedServers } from "../answers/known-servers.ts";
import { listDoc } from "../answers/list.ts";
import { ordered } from "../answers/order.ts";
import type { DenialsPort, LiveView } from "../deps.ts";
import { documented } from "../documented.ts";
import type { Exchanges } from "../exchange.ts";
import { FORMAT, names, STORED_PAGE, sortBy, wholeNames } from "../parameters.ts";
import { type QueryOf, queryOf } from "../query.ts";
import { checkRange, endTime, startTime } from "../query-time.ts";
import type { Schema } from "../schema-check.ts";

export interface DenialRoutesDeps {
  readonly denials: DenialsPort;
  readonly live: LiveView;
  readonly pseudonyms: Pseudonyms;
}

const QUERY = queryOf({
  feature: wholeNames("Exact name of the feature; may be repeated.", "solver"),
  server: names("Ids of servers. An unknown one is 404.", "eda"),
  user: names("Exact names of users.", "ada"),
  host: names("Names of client hosts, whatever the case.", "ws01"),
  start: startTime("Denials from this time on, by their first attempt."),
  end: endTime("Denials before this time."),
  sort: sortBy(DENIAL_SORTS),
  ...STORED_PAGE,
  ...FORMAT,
});
type Query = QueryOf<typeof QUERY>;

const LIST = listDoc("denials", DenialRecord, "Denials");

const Logging = Type.Object({
  server: Type.String(),
  state: words(DENIAL_STATES),
  source: nullable(words(["debug_log", "counters"])),
  since: nullable({ ...Timestamp, description: "Since when without a break" } as typeof Timestamp),
  message: nullable(Type.String({ description: "Why not, and what would help" })),
});

/** Who was denied what, and whether denials can be seen at all. */
export function denialRoutes({ denials, live, pseudonyms }: DenialRoutesDeps, exchanges: Exchanges) {
  return new Elysia({ name: "routes/denials" }).get(
    "/api/licenses/denials",
    async ({ request }) => {
      const exchange = exchanges.of(request);
      const query = QUERY.parse(exchange.query);
      checkRange(query.start, query.end);
      const servers = namedServers(live.snapshot(), query.server);
      const format = chooseFormat(query.format, request.headers.get("accept"));
      const anonymous = exchange.caller?.anonymize === true;
      const { rows, total } = await (anonymous
        ? anonymousPage(denials, pseudonyms, query)
        : denials.page(storedQuery(query)));
      const ids = new Set(servers.map(({ server }) => server.id));
      const logging = denials.logging().filter(({ server }) => ids.has(server));
      return answer(
        rows.map(denialRecord),
        total,
        anonymous ? logging.map(withoutPaths) : logging,
        query,
        format,
      );
    },
    documented({
      access: "read",
      tag: "Licenses",
      summary: "Denied requests, newest first",
      description:
        "One row for a user who tries again and again. `logging` says of each server whether denials can be seen and since when: no rows of a server whose logging is off mean nothing.",
      query: QUERY,
      answers: {
        200: {
          ...LIST,
          headers: {
            "X-Total-Count": LIST.headers["X-Total-Count"],
            "Content-Disposition": LIST.headers["Content-Disposition"],
          },
          schema: Type.Object({
            denials: Type.Array(DenialRecord),
            total: Type.Integer({ minimum: 0 }),
            limit: Type.Integer(),
            offset: Type.Integer(),
            logging: Type.Array(Logging),
          }),
        },
      },
      errors: ["NOT_FOUND"],
    }),
  );
}

function storedQuery({ feature, server, user, host, start, end, sort, limit, offset }: Query): DenialQuery {
  return { servers: server, features: feature, users: user, hosts: host, start, end, sort, limit, offset };
}

/**
 * The page of a caller who may not know names. Pseudonyms cannot be turned back, so those asked for are looked for
 * among the names that occur; and what is sorted by a name is sorted by its pseudonym.
 */
async function anonymousPage(
  denials: DenialsPort,
  pseudonyms: Pseudonyms,
  query: Query,
): Promise<DenialPage> {
  const stored = storedQuery(query);
  const asks = query.user !== null || query.host !== null;
  const { users, hosts } = asks ? await denials.people(stored) : { users: [], hosts: [] };
  const named: DenialQuery = {
    ...stored,
    users: query.user && users.filter((name) => query.user?.includes(pseudonyms.user(name))),
    hosts: query.host && hosts.filter((name) => query.host?.includes(pseudonyms.host(name))),
  };
  const masked = (denial: Denial): Denial => ({
    ...denial,
    user: denial.user === null ? null : pseudonyms.user(denial.user),
    host: denial.host === null ? null : pseudonyms.host(denial.host),
  });
  const { sort, limit, offset } = query;
  if (sort?.field !== "user" && sort?.field !== "host") {
    const { rows, total } = await denials.page(named);
    return { rows: rows.map(masked), total };
  }
  const { rows, total } = await denials.page({ ...named, sort: null, limit: null, offset: 0 });
  const byName = { field: sort.field, descending: sort.descending } as const;
  return { rows: ordered(rows.map(masked), byName, ["at", "server"]).slice(offset, offset + limit), total };
}

/** Paths of the host are not for everybody. */
function withoutPaths(logging: DenialLogging): DenialLogging {
  return logging.state === "unreadable" ? { ...logging, message: "The debug log cannot be read" } : logging;
}

function answer(
  denials: readonly DenialRecord[],
  total: number,
  logging: readonly DenialLogging[],
  { limit, offset }: Query,
  format: Format,
): Response {
  if (format === "json") {
    const shown = logging.map(({ since, ...rest }) => ({ ...rest, since: iso(since) }));
    return Response.json({ denials, total, limit, offset, logging: shown });
  }
  const schema: Schema = DenialRecord;
  return new Response(encode(toCsv(denials, columnsOf(schema))), {
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": 'attachment; filename="licmond-denials.csv"',
      "x-total-count": String(total),
    },
  });
}
