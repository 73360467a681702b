import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ApiError } from "../../domain/errors.ts";
import type { Snapshot } from "../../domain/picture.ts";
import { RawOutput, ServerRecord } from "../../domain/records.ts";
import { iso } from "../../domain/time/clock.ts";
import { DATA_STATES, SERVER_STATUSES } from "../../domain/words.ts";
import { decodeOutput } from "../../managers/read-output.ts";
import { MANAGERS } from "../../managers/registry.ts";
import { formOf, send, valueAnswer } from "../answers/answer.ts";
import { type ListKind, listAnswer, listDoc, NOT_MODIFIED, sortable, withSite } from "../answers/list.ts";
import { documented } from "../docs/documented.ts";
import { gated } from "../exchange.ts";
import { LIVE_LIST, NAMED, names, queryOf, sortBy, wordList } from "../query.ts";
import { pick, serverRecord } from "../records.ts";
import { knownServer, namedServers, perPicture } from "../snapshot.ts";
import type { RouteDeps } from "./deps.ts";

const SERVERS: ListKind<ServerRecord> = { plural: "servers", record: ServerRecord, identity: ["id"] };

const QUERY = queryOf({
  server: names("Ids of servers. An unknown one is 404.", "eda"),
  label: NAMED.label,
  manager: names("Names of license managers, as the config has them.", MANAGERS[0] ?? ""),
  status: wordList(SERVER_STATUSES, "Reachability."),
  state: wordList(DATA_STATES, "Outcome of the last poll."),
  sort: sortBy(sortable<ServerRecord>(ServerRecord)),
  ...LIVE_LIST,
});

const ID = Type.Object({ id: Type.String({ description: "Id of the server", example: "eda" }) });

/** A name that is misspelt must not look like a manager without servers. */
export function checkManagers(named: readonly string[] | undefined, { servers }: Snapshot): void {
  const known = new Set([...MANAGERS, ...servers.map(({ server }) => server.manager)]);
  if (named?.every((name) => known.has(name)) ?? true) return;
  const takes = `${[...known].join(", ")} (one or more, separated by commas)`;
  throw new ApiError("INVALID_QUERY", `Query parameter "manager" takes ${takes}.`);
}

/** The license servers, one by one, and the raw output of their last polls. */
export function serverRoutes({ live, collector, snapshotFor, answers }: RouteDeps) {
  const recordOf = perPicture(serverRecord);

  return new Elysia({ name: "routes/servers" })
    .use(gated)
    .get(
      "/api/licenses/servers",
      ({ exchange, query }) => {
        const form = formOf(query, exchange);
        const snapshot = snapshotFor(exchange);
        const servers = namedServers(snapshot, query.server, query.label);
        checkManagers(query.manager, snapshot);
        return answers.respond(exchange, snapshot, form.format, () => {
          const matched = servers
            .map(recordOf)
            .filter(
              ({ manager, status, state }) =>
                (query.manager?.includes(manager) ?? true) &&
                (query.status?.includes(status) ?? true) &&
                (query.state?.includes(state) ?? true),
            );
          return listAnswer(SERVERS, matched, query, form);
        });
      },
      documented("read", "Licenses", "License servers", {
        query: QUERY,
        answers: { 200: listDoc("servers", ServerRecord, "Servers"), 304: NOT_MODIFIED },
      }),
    )
    .get(
      "/api/licenses/servers/:id",
      ({ exchange, params }) => {
        const snapshot = snapshotFor(exchange);
        const picture = knownServer(snapshot, params.id);
        return answers.respond(exchange, snapshot, "json", () => valueAnswer(recordOf(picture)));
      },
      documented("read", "Licenses", "One license server", {
        params: ID,
        answers: { 200: { description: "Server", schema: ServerRecord }, 304: NOT_MODIFIED },
      }),
    )
    .get(
      "/api/licenses/servers/:id/raw",
      async ({ request, exchange, params }) => {
        const { unparsedLines, unparsed, lastPollAt } = knownServer(live.snapshot(), params.id);
        const raw = await collector.raw(params.id);
        const nothing = { argv: null, exitCode: null, signal: null, truncated: null };
        const output = {
          server: params.id,
          polledAt: raw && iso(lastPollAt),
          ...(raw === null ? nothing : pick(raw, "argv", "exitCode", "signal", "truncated")),
          stdout: raw && decodeOutput(raw.stdout),
          stderr: raw && decodeOutput(raw.stderr),
          unparsedLines,
          unparsed: unparsed.map((line) => pick(line, "line", "text")),
        };
        return send(request, valueAnswer(withSite(output, exchange.ofSite)));
      },
      documented("raw", "Licenses", "The raw output of a server's last poll", {
        description:
          "What was run and what it said, and the lines that no rule knew. Null before the first poll since the start.",
        params: ID,
        answers: { 200: { description: "Raw output", schema: RawOutput } },
      }),
    );
}
