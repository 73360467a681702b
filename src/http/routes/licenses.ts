import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { AlertCounts } from "../../domain/alerts.ts";
import type { ServerPicture, Snapshot } from "../../domain/picture.ts";
import { FeatureRecord, ServerRecord, SummaryRecord } from "../../domain/records.ts";
import { perAudience, type SnapshotFor } from "../anonymous/view.ts";
import { type Answer, encode, jsonAnswer } from "../answers/answer.ts";
import type { Answers } from "../answers/answers.ts";
import { namedServers } from "../answers/asked-servers.ts";
import { createJoiner, perPicture } from "../answers/fragments.ts";
import { NOT_MODIFIED } from "../answers/list.ts";
import { requirePermission } from "../auth.ts";
import type { HttpDeps } from "../deps.ts";
import { documented } from "../documented.ts";
import { type Exchange, gated } from "../exchange.ts";
import { flag, names } from "../parameters.ts";
import { queryOf } from "../query.ts";
import { featureRecord, serverRecord, summaryRecord } from "../records/to-records.ts";
import { type ForcePoll, POLL_ERRORS } from "./rescan.ts";

const QUERY = queryOf({
  refresh: flag("true polls first and waits, as POST /api/licenses/rescan does; needs the role operator."),
  server: names("Ids of servers to show (and to refresh). An unknown one is 404.", "eda"),
});

const Licenses = Type.Object(
  {
    servers: Type.Array(
      Type.Composite([ServerRecord, Type.Object({ features: Type.Array(FeatureRecord) })], {
        title: "ServerWithFeatures",
      }),
    ),
    summary: SummaryRecord,
  },
  { title: "Licenses" },
);

/** The whole snapshot: servers with their features, and the totals of those shown. */
export function licenseRoutes(
  { alerts }: Pick<HttpDeps, "alerts">,
  snapshotFor: SnapshotFor,
  answers: Answers,
  forcePoll: ForcePoll,
) {
  const fragmentOf = perPicture((picture) => {
    const features = picture.features.map((feature) => featureRecord(picture.server.id, feature));
    return encode(JSON.stringify({ ...serverRecord(picture), features }));
  });
  const wholes = perAudience(() => ({ join: createJoiner(), version: -1, counts: "" }));

  /**
   * The buffer of the whole is used again for each snapshot. While one lasts its answer is kept, so whatever differs
   * from that (a part of the servers, other alerts) has a buffer of its own.
   */
  function joinerFor(exchange: Exchange, { version, servers: all }: Snapshot, count: number, counts: string) {
    const whole = wholes(exchange);
    const other = count < all.length || (whole.version === version && whole.counts !== counts);
    if (other) return createJoiner();
    whole.version = version;
    whole.counts = counts;
    return whole.join;
  }

  function answer(
    exchange: Exchange,
    snapshot: Snapshot,
    servers: readonly ServerPicture[],
    counts: AlertCounts,
  ): Answer {
    const summary = summaryRecord({ version: snapshot.version, servers }, counts);
    const join = joinerFor(exchange, snapshot, servers.length, JSON.stringify(counts));
    return jsonAnswer(
      join('{"servers":[', servers.map(fragmentOf), `],"summary":${JSON.stringify(summary)}}`),
    );
  }

  return new Elysia({ name: "routes/licenses" })
    .use(gated)
    .get(
      "/api/licenses",
      async ({ request, exchange, query, server }) => {
        const { server: named = null } = query;
        if (query.refresh === true) {
          requirePermission(exchange, "refresh", "refresh=true");
          server?.timeout(request, 0);
          await forcePoll(exchange, named);
        }
        const snapshot = snapshotFor(exchange);
        const servers = namedServers(snapshot, named);
        const counts = alerts.counts(named);
        const make = () => answer(exchange, snapshot, servers, counts);
        return answers.respond(request, exchange, snapshot, "json", make, JSON.stringify(counts));
      },
      documented({
        access: "read",
        tag: "Licenses",
        summary: "Everything: servers, features, totals",
        query: QUERY,
        answers: {
          200: {
            description: "The snapshot",
            schema: Licenses,
          },
          304: NOT_MODIFIED,
        },
        errors: POLL_ERRORS,
      }),
    )
    .get(
      "/api/licenses/summary",
      ({ request, exchange }) => {
        const snapshot = snapshotFor(exchange);
        const counts = alerts.counts(null);
        const make = () => jsonAnswer(encode(JSON.stringify(summaryRecord(snapshot, counts))));
        return answers.respond(request, exchange, snapshot, "json", make, JSON.stringify(counts));
      },
      documented({
        access: "read",
        tag: "Licenses",
        summary: "Totals over all servers",
        answers: {
          200: { description: "Totals", schema: SummaryRecord },
          304: NOT_MODIFIED,
        },
      }),
    );
}
