import { Elysia } from "elysia";
import type { ServerPicture } from "../../domain/picture.ts";
import { FeatureRecord } from "../../domain/records.ts";
import { DATA_STATES } from "../../domain/words.ts";
import { perAudience, type SnapshotFor } from "../anonymous/view.ts";
import { type Answer, jsonAnswer } from "../answers/answer.ts";
import type { Answers } from "../answers/answers.ts";
import { askedServers } from "../answers/asked-servers.ts";
import { chooseFormat } from "../answers/format.ts";
import { createJoiner, perPicture, serialiseRows } from "../answers/fragments.ts";
import { type ListKind, listAnswer, listDoc, NOT_MODIFIED } from "../answers/list.ts";
import { sortable } from "../answers/order.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { type Exchange, gated } from "../exchange.ts";
import { decimal, FORMAT, LIVE_PAGE, NAMED, sortBy, text, wordList } from "../parameters.ts";
import { type QueryOf, queryOf } from "../query.ts";
import { featureRecord } from "../records/to-records.ts";

const FEATURES: ListKind<FeatureRecord> = {
  plural: "features",
  record: FeatureRecord,
  identity: ["server", "daemon", "name"],
};

const QUERY = queryOf({
  ...NAMED,
  search: text("Part of the name, whatever the case.", "solv"),
  min_utilization: decimal("Least utilization in percent.", { minimum: 0, maximum: 1_000_000 }),
  state: wordList(DATA_STATES, "How far the numbers can be trusted."),
  sort: sortBy(sortable<FeatureRecord>(FeatureRecord)),
  ...LIVE_PAGE,
  ...FORMAT,
});
type Query = QueryOf<typeof QUERY>;

/** All features of all servers, flat. The plain question is answered from parts kept by server. */
export function featureRoutes(
  { history }: Pick<HttpDeps, "history">,
  snapshotFor: SnapshotFor,
  answers: Answers,
) {
  const recordsOf = ({ server, features }: ServerPicture) =>
    features.map((one) => featureRecord(server.id, one));
  const fragmentOf = perPicture((picture) => serialiseRows(recordsOf(picture)));
  const joiners = perAudience(createJoiner);

  function everything(exchange: Exchange, servers: readonly ServerPicture[]): Answer {
    const total = servers.reduce((sum, { features }) => sum + features.length, 0);
    return jsonAnswer(
      joiners(exchange)(
        '{"features":[',
        servers.map(fragmentOf),
        `],"total":${total},"limit":null,"offset":0}`,
      ),
    );
  }

  return new Elysia({ name: "routes/features" }).use(gated).get(
    "/api/licenses/features",
    async ({ request, exchange }) => {
      const query = QUERY.parse(exchange.query);
      const format = chooseFormat(query, request.headers.get("accept"));
      const snapshot = snapshotFor(exchange);
      const servers = await askedServers(history, { request, caller: exchange.caller }, snapshot, query);
      return answers.respond(request, exchange, snapshot, format, () => {
        if (format === "json" && query.server === null && isPlain(query))
          return everything(exchange, servers);
        const matched = servers.flatMap(({ server, features }) =>
          features
            .filter((feature) => wanted(query, feature))
            .map((feature) => featureRecord(server.id, feature)),
        );
        return listAnswer(FEATURES, matched, query, format);
      });
    },
    documented({
      access: "read",
      tag: "Licenses",
      summary: "Features of all servers",
      query: QUERY,
      answers: { 200: listDoc("features", FeatureRecord, "Features"), 304: NOT_MODIFIED },
      errors: ["NOT_FOUND"],
    }),
  );
}

function isPlain({ daemon, feature, search, min_utilization, state, sort, limit, offset }: Query): boolean {
  const narrowed = [daemon, feature, search, min_utilization, state, sort, limit].some(
    (value) => value !== null,
  );
  return !narrowed && offset === 0;
}

function wanted(query: Query, feature: ServerPicture["features"][number]): boolean {
  if (query.daemon !== null && !query.daemon.includes(feature.daemon)) return false;
  if (query.feature !== null && !query.feature.includes(feature.name)) return false;
  if (query.state !== null && !query.state.includes(feature.state)) return false;
  if (query.search !== null && !feature.name.toLowerCase().includes(query.search.toLowerCase())) return false;
  if (query.min_utilization === null) return true;
  return feature.utilization !== null && feature.utilization >= query.min_utilization;
}
