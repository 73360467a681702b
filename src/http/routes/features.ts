import type { Static } from "@sinclair/typebox";
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
import { type ListKind, listAnswer, listDoc, NOT_MODIFIED, sortable } from "../answers/list.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { type Exchange, gated } from "../exchange.ts";
import {
  decimal,
  FORMAT,
  isPlain,
  LIVE_PAGE,
  livePage,
  NAMED,
  sortBy,
  text,
  wordList,
} from "../parameters.ts";
import { queryOf } from "../query.ts";
import { featureRecord } from "../records/to-records.ts";

const FEATURES: ListKind<FeatureRecord> = {
  plural: "features",
  record: FeatureRecord,
  identity: ["server", "daemon", "name"],
};

const QUERY = queryOf({
  ...NAMED,
  search: text("Part of the name, whatever the case.", "schema"),
  min_utilization: decimal("Least utilization in percent.", { minimum: 0, maximum: 1_000_000 }),
  state: wordList(DATA_STATES, "How far the numbers can be trusted."),
  sort: sortBy(sortable<FeatureRecord>(FeatureRecord)),
  ...LIVE_PAGE,
  ...FORMAT,
});
type Query = Static<typeof QUERY.schema>;

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
    async ({ request, exchange, query }) => {
      const format = chooseFormat(query, request.headers.get("accept"));
      const snapshot = snapshotFor(exchange);
      const servers = await askedServers(history, { request, caller: exchange.caller }, snapshot, query);
      return answers.respond(request, exchange, snapshot, format, () => {
        if (format === "json" && isPlain(query)) return everything(exchange, servers);
        const matched = servers.flatMap(({ server, features }) =>
          features
            .filter((feature) => wanted(query, feature))
            .map((feature) => featureRecord(server.id, feature)),
        );
        return listAnswer(FEATURES, matched, livePage(query), format);
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

function wanted(query: Query, feature: ServerPicture["features"][number]): boolean {
  if (query.daemon !== undefined && !query.daemon.includes(feature.daemon)) return false;
  if (query.feature !== undefined && !query.feature.includes(feature.name)) return false;
  if (query.state !== undefined && !query.state.includes(feature.state)) return false;
  if (query.search !== undefined && !feature.name.toLowerCase().includes(query.search.toLowerCase()))
    return false;
  if (query.min_utilization === undefined) return true;
  return feature.utilization !== null && feature.utilization >= query.min_utilization;
}
