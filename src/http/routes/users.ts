import { Elysia } from "elysia";
import type { ServerPicture } from "../../domain/picture.ts";
import { UserRecord } from "../../domain/records.ts";
import { USER_KINDS } from "../../domain/words.ts";
import { perAudience, type SnapshotFor } from "../anonymous/view.ts";
import { type Answer, jsonAnswer } from "../answers/answer.ts";
import type { Answers } from "../answers/answers.ts";
import { askedServers } from "../answers/asked-servers.ts";
import { chooseFormat } from "../answers/format.ts";
import { createJoiner } from "../answers/fragments.ts";
import { listAnswer, listDoc, NOT_MODIFIED } from "../answers/list.ts";
import { sortable } from "../answers/order.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { type Exchange, gated } from "../exchange.ts";
import { FORMAT, LIVE_PAGE, NAMED, names, sortBy, wordList } from "../parameters.ts";
import { type QueryOf, queryOf } from "../query.ts";
import { userRecords } from "../records/to-records.ts";
import { BY_START, createUserRows, USERS } from "./user-rows.ts";

const QUERY = queryOf({
  ...NAMED,
  user: names("Exact names of users.", "ada"),
  host: names("Names of client hosts, whatever the case.", "ws01"),
  kind: wordList(USER_KINDS, "Checkouts, reservations, queue entries."),
  sort: sortBy(sortable<UserRecord>(UserRecord)),
  ...LIVE_PAGE,
  ...FORMAT,
});
type Query = QueryOf<typeof QUERY>;

/** Who holds seats, for whom seats are kept, and who waits. */
export function userRoutes(
  { history }: Pick<HttpDeps, "history">,
  snapshotFor: SnapshotFor,
  answers: Answers,
) {
  const makers = perAudience(() => ({ rowsOf: createUserRows(), join: createJoiner() }));

  function everything(exchange: Exchange, servers: readonly ServerPicture[]): Answer {
    const { rowsOf, join } = makers(exchange);
    const rows = rowsOf(servers);
    return jsonAnswer(join('{"users":[', rows, `],"total":${rows.length},"limit":null,"offset":0}`));
  }

  return new Elysia({ name: "routes/users" }).use(gated).get(
    "/api/licenses/users",
    async ({ request, exchange }) => {
      const query = QUERY.parse(exchange.query);
      const format = chooseFormat(query, request.headers.get("accept"));
      const snapshot = snapshotFor(exchange);
      const servers = await askedServers(history, { request, caller: exchange.caller }, snapshot, query);
      return answers.respond(request, exchange, snapshot, format, () => {
        if (format === "json" && isPlain(query)) return everything(exchange, servers);
        const wanted = matcher(query);
        const matched = servers.flatMap(({ server, features }) =>
          features
            .filter((feature) => query.feature === null || query.feature.includes(feature.name))
            .flatMap((feature) => userRecords(server.id, feature).filter(wanted)),
        );
        return listAnswer(USERS, matched, { ...query, sort: query.sort ?? BY_START }, format);
      });
    },
    documented({
      access: "read",
      tag: "Licenses",
      summary: "Checkouts, reservations and queue entries",
      description: "Sorted by start unless told otherwise; rows whose start is not known come last.",
      query: QUERY,
      answers: { 200: listDoc("users", UserRecord, "Users"), 304: NOT_MODIFIED },
      errors: ["NOT_FOUND"],
    }),
  );
}

/** The question for everything; its answer is made of rows that are kept. */
function isPlain({ feature, server, daemon, user, host, kind, sort, limit, offset }: Query): boolean {
  const narrowed = [feature, server, daemon, user, host, kind, sort, limit].some((value) => value !== null);
  return !narrowed && offset === 0;
}

function matcher({ daemon, user, host, kind }: Query): (row: UserRecord) => boolean {
  const hosts = host && new Set(host.map((name) => name.toLowerCase()));
  return (row) =>
    (daemon === null || daemon.includes(row.daemon)) &&
    (user === null || (row.user !== null && user.includes(row.user))) &&
    (hosts === null || (row.host !== null && hosts.has(row.host.toLowerCase()))) &&
    (kind === null || kind.includes(row.kind));
}
