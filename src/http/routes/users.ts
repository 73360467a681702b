import type { Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { ServerPicture } from "../../domain/picture.ts";
import { UserRecord } from "../../domain/records.ts";
import { USER_KINDS } from "../../domain/words.ts";
import { perAudience, type SnapshotFor } from "../anonymous/view.ts";
import { type Answer, jsonAnswer } from "../answers/answer.ts";
import type { Answers } from "../answers/answers.ts";
import { askedServers } from "../answers/asked-servers.ts";
import { chooseFormat } from "../answers/format.ts";
import { createJoiner, perPicture, type TextPiece, textPiece } from "../answers/fragments.ts";
import { type ListKind, listAnswer, listDoc, NOT_MODIFIED, ordered, sortable } from "../answers/list.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { type Exchange, gated } from "../exchange.ts";
import {
  FORMAT,
  isPlain,
  LIVE_PAGE,
  livePage,
  NAMED,
  names,
  type Sort,
  sortBy,
  wordList,
} from "../parameters.ts";
import { queryOf } from "../query.ts";
import { userRecords } from "../records/to-records.ts";

const USERS: ListKind<UserRecord> = {
  plural: "users",
  record: UserRecord,
  identity: ["server", "daemon", "feature", "kind", "user", "host", "display", "handle"],
};

/** Who holds seats longest stands first; unknown starts come last. */
const BY_START: Sort<keyof UserRecord> = { field: "startedAt", descending: false };

const QUERY = queryOf({
  ...NAMED,
  user: names("Exact names of users.", "ada"),
  host: names("Names of client hosts, whatever the case.", "ws01"),
  kind: wordList(USER_KINDS, "Checkouts, reservations, queue entries."),
  sort: sortBy(sortable<UserRecord>(UserRecord)),
  ...LIVE_PAGE,
  ...FORMAT,
});
type Query = Static<typeof QUERY.schema>;

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
    async ({ request, exchange, query }) => {
      const format = chooseFormat(query, request.headers.get("accept"));
      const snapshot = snapshotFor(exchange);
      const servers = await askedServers(history, { request, caller: exchange.caller }, snapshot, query);
      return answers.respond(request, exchange, snapshot, format, () => {
        if (format === "json" && isPlain(query)) return everything(exchange, servers);
        const wanted = matcher(query);
        const matched = servers.flatMap(({ server, features }) =>
          features
            .filter((feature) => query.feature === undefined || query.feature.includes(feature.name))
            .flatMap((feature) => userRecords(server.id, feature).filter(wanted)),
        );
        return listAnswer(USERS, matched, livePage(query, BY_START), format);
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

function matcher({ daemon, user, host, kind }: Query): (row: UserRecord) => boolean {
  const hosts = host && new Set(host.map((name) => name.toLowerCase()));
  return (row) =>
    (daemon === undefined || daemon.includes(row.daemon)) &&
    (user === undefined || (row.user !== null && user.includes(row.user))) &&
    (hosts === undefined || (row.host !== null && hosts.has(row.host.toLowerCase()))) &&
    (kind === undefined || kind.includes(row.kind));
}

/** A row as it is kept: written out, with what it is sorted by. */
interface Row extends TextPiece {
  /** Epoch ms; unknown = Infinity, which puts it last. */
  readonly start: number;
}

/**
 * All rows of all servers by start, written out. Each server's rows are sorted and
 * kept with its picture, so that after a poll only that server's are made anew and the rest is merged: servers in
 * the order of their ids and a stable sort keep ties in the order of identity.
 */
function createUserRows(): (servers: readonly ServerPicture[]) => readonly TextPiece[] {
  const rowsOf = perPicture(({ server, features }): readonly Row[] => {
    const records = features.flatMap((feature) => userRecords(server.id, feature));
    return ordered(records, BY_START, USERS.identity).map((record) => ({
      start: record.startedAt === null ? Infinity : Date.parse(record.startedAt),
      ...textPiece(JSON.stringify(record)),
    }));
  });
  return (servers) => {
    const byId = servers.toSorted((a, b) => (a.server.id < b.server.id ? -1 : 1));
    return byId.flatMap(rowsOf).sort((a, b) => (a.start === b.start ? 0 : a.start - b.start));
  };
}
