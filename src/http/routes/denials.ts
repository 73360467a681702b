import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { DENIAL_STATES, type DenialLogging } from "../../collector/log-tail/denial-watch.ts";
import { iso } from "../../domain/clock.ts";
import { DenialRecord } from "../../domain/denials.ts";
import { nullable, Timestamp, words } from "../../domain/records.ts";
import { DENIAL_SORTS } from "../../store/denial-queries.ts";
import { askedServers } from "../answers/asked-servers.ts";
import { chooseFormat } from "../answers/format.ts";
import { listDoc } from "../answers/list.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { gated } from "../exchange.ts";
import { answerOf } from "../history.ts";
import { FORMAT, NAMED, names, STORED_PAGE, sortBy } from "../parameters.ts";
import { queryOf } from "../query.ts";
import { checkRange, endTime, startTime } from "../query-time.ts";

const QUERY = queryOf({
  ...NAMED,
  user: names("Exact names of users.", "ada"),
  host: names("Names of client hosts, whatever the case.", "ws01"),
  start: startTime("Denials from this time on, by their first attempt."),
  end: endTime("Denials before this time."),
  sort: sortBy(DENIAL_SORTS),
  ...STORED_PAGE,
  ...FORMAT,
});

const LIST = listDoc("denials", DenialRecord, "Denials");

const Logging = Type.Object({
  server: Type.String(),
  state: words(DENIAL_STATES),
  source: nullable(words(["debug_log", "counters"])),
  since: nullable({ ...Timestamp, description: "Since when without a break" } as typeof Timestamp),
  message: nullable(Type.String({ description: "Why not, and what would help" })),
});

/** Who was denied what, and whether denials can be seen at all. */
export function denialRoutes({
  denials,
  history,
  live,
  clock,
}: Pick<HttpDeps, "denials" | "history" | "live" | "clock">) {
  return new Elysia({ name: "routes/denials" }).use(gated).get(
    "/api/licenses/denials",
    async ({ request, exchange }) => {
      const query = QUERY.parse(exchange.query, clock.now());
      checkRange(query.start, query.end);
      const asker = { request, caller: exchange.caller };
      const servers = await askedServers(history, asker, live.snapshot(), query);
      const format = chooseFormat(query, request.headers.get("accept"));
      const anonymize = exchange.caller?.anonymize === true;
      const ids = new Set(servers.map(({ server }) => server.id));
      const logging = denials
        .logging()
        .filter(({ server }) => ids.has(server))
        .map((one) => (anonymize ? withoutPaths(one) : one))
        .map(({ since, ...rest }) => ({ ...rest, since: iso(since) }));
      const { server, daemon, feature, user, host, start, end, sort, limit, offset } = query;
      return answerOf(history, asker, "denials", {
        ...{ servers: server, daemons: daemon, features: feature, users: user, hosts: host },
        ...{ start, end, sort, limit, offset, format, logging, anonymize },
      });
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
      errors: ["NOT_FOUND", "TIMEOUT"],
    }),
  );
}

/** Paths of the host are not for everybody. */
function withoutPaths(logging: DenialLogging): DenialLogging {
  return logging.state === "unreadable" ? { ...logging, message: "The debug log cannot be read" } : logging;
}
