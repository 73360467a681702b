import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { FeatureRecord, record, ServerRecord, SummaryRecord } from "../../domain/records.ts";
import { valueAnswer } from "../answers/answer.ts";
import { NOT_MODIFIED } from "../answers/list.ts";
import { documented } from "../docs/documented.ts";
import { gated, requirePermission } from "../exchange.ts";
import { flag, NAMED, names, queryOf } from "../query.ts";
import { featureRecord, serverRecord, summaryRecord } from "../records.ts";
import { byLabels, type Join, namedServers, perPicture } from "../snapshot.ts";
import type { RouteDeps } from "./deps.ts";
import { forcePoll, POLL_ERRORS } from "./rescan.ts";

const QUERY = queryOf({
  refresh: flag("true polls first and waits, as POST /api/licenses/rescan does; needs the role operator."),
  server: names("Ids of servers to show (and to refresh). An unknown one is 404.", "eda"),
  label: NAMED.label,
});
const SUMMARY = queryOf({ server: NAMED.server, label: NAMED.label });

export const ServerWithFeatures = record("ServerWithFeatures", {
  ...ServerRecord.properties,
  features: Type.Array(FeatureRecord),
});
const Licenses = record("Licenses", { servers: Type.Array(ServerWithFeatures), summary: SummaryRecord });

/** The whole snapshot: servers with their features, and the totals of those shown. */
export function licenseRoutes(deps: RouteDeps) {
  const { alerts, snapshotFor, answers } = deps;
  const partOf = perPicture((picture) => {
    const features = picture.features.map((feature) => featureRecord(picture.server, feature));
    return JSON.stringify({ ...serverRecord(picture), features });
  });

  return new Elysia({ name: "routes/licenses" })
    .use(gated)
    .get(
      "/api/licenses",
      async ({ request, exchange, query }) => {
        const { server: named = null, refresh } = byLabels(snapshotFor(exchange), query);
        if (refresh === true) {
          requirePermission(exchange, "refresh", "refresh=true");
          exchange.listener?.timeout(request, 0);
          await forcePoll(deps, exchange, named);
        }
        const snapshot = snapshotFor(exchange);
        const servers = namedServers(snapshot, named);
        const counts = alerts.counts(named);
        const make = (join: Join) => {
          const summary = JSON.stringify(summaryRecord({ ...snapshot, servers }, counts));
          return join('{"servers":[', servers.map(partOf), `],"summary":${summary}}`);
        };
        return answers.respond(exchange, snapshot, "json", make, JSON.stringify(counts));
      },
      documented("read", "Licenses", "Everything: servers, features, totals", {
        query: QUERY,
        answers: { 200: { description: "The snapshot", schema: Licenses }, 304: NOT_MODIFIED },
        errors: POLL_ERRORS,
      }),
    )
    .get(
      "/api/licenses/summary",
      ({ exchange, query }) => {
        const snapshot = snapshotFor(exchange);
        const { server: named = null } = byLabels(snapshot, query);
        const servers = namedServers(snapshot, named);
        const counts = alerts.counts(named);
        const make = () => valueAnswer(summaryRecord({ ...snapshot, servers }, counts));
        return answers.respond(exchange, snapshot, "json", make, JSON.stringify(counts));
      },
      documented("read", "Licenses", "Totals over all servers, or over those named", {
        query: SUMMARY,
        answers: { 200: { description: "Totals", schema: SummaryRecord }, 304: NOT_MODIFIED },
      }),
    );
}
