import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { RescanRow } from "../../collector/outcomes.ts";
import { ApiError } from "../../domain/errors.ts";
import { FeatureRecord, RescanResult, record, ServerRecord, SummaryRecord } from "../../domain/records.ts";
import { unicode } from "../../domain/text-types.ts";
import { valueAnswer } from "../answers/answer.ts";
import { NOT_MODIFIED } from "../answers/list.ts";
import { fields } from "../body.ts";
import { documented } from "../docs/documented.ts";
import { type Exchange, gated, requirePermission } from "../exchange.ts";
import { flag, NAMED, names, queryOf, shown } from "../query.ts";
import { featureRecord, serverRecord, summaryRecord } from "../records.ts";
import { byLabels, type Join, knownServer, namedServers, perPicture } from "../snapshot.ts";
import type { RouteDeps } from "./deps.ts";

const QUERY = queryOf({
  refresh: flag("true polls first and waits, as POST /api/licenses/rescan does; needs the role operator."),
  server: names("Ids of servers to show (and to refresh). An unknown one is 404.", "eda"),
  label: NAMED.label,
});
const SUMMARY = queryOf({ server: NAMED.server, label: NAMED.label });

const ServerWithFeatures = record("ServerWithFeatures", {
  ...ServerRecord.properties,
  features: Type.Array(FeatureRecord),
});
const Licenses = record("Licenses", { servers: Type.Array(ServerWithFeatures), summary: SummaryRecord });

const RescanBody = fields({
  servers: Type.Optional(
    Type.Array(unicode(0, null), { minItems: 1, description: "Ids; every enabled server when absent" }),
  ),
});
const Results = Type.Object({ results: Type.Array(RescanResult) });

/** Errors that a forced poll can end with. */
const POLL_ERRORS = [
  "NOT_FOUND",
  "CONFLICT",
  "UPSTREAM_ERROR",
  "LICENSE_SERVER_UNREACHABLE",
  "LICENSE_QUERY_FAILED",
  "LICENSE_PARSE_ERROR",
  "TIMEOUT",
] as const;

/** The whole snapshot: servers with their features, and the totals of those shown; and a poll of them now. */
export function licenseRoutes(deps: RouteDeps) {
  const { alerts, snapshotFor, answers } = deps;
  const partOf = perPicture((picture) => {
    const features = picture.features.map((feature) => featureRecord(picture.server.id, feature));
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
    )
    .post(
      "/api/licenses/rescan",
      async ({ request, exchange, body }) => {
        // A poll may take longer than the time after which Bun cuts a silent connection.
        exchange.listener?.timeout(request, 0);
        const rows = await forcePoll(deps, exchange, body.servers ?? null);
        return {
          results: rows.map(({ server: id, status, durationMs, error }) => ({
            server: id,
            status,
            durationMs: Math.round(durationMs),
            error: error && { code: error.code, message: error.message },
          })),
        };
      },
      documented("rescan", "Licenses", "Poll now", {
        description:
          "Waits for the polls; a poll that already runs is joined. When exactly one server is named, its failure is the answer's error; otherwise a failure stands in its row, and only when every poll failed is the answer UPSTREAM_ERROR.",
        body: RescanBody,
        example: { servers: ["eda"] },
        answers: { 200: { description: "What came of each poll", schema: Results } },
        errors: POLL_ERRORS,
      }),
    );
}

/**
 * Polls the named servers now and waits (null = every enabled server), for `rescan` and `refresh=true` alike. Throws
 * NOT_FOUND for an unknown id, CONFLICT for a disabled one, the poll's own error when the one server that was named
 * failed, UPSTREAM_ERROR when several (or all) were asked for and every poll failed.
 */
async function forcePoll(
  { live, collector, settings, audit }: RouteDeps,
  exchange: Exchange,
  named: readonly string[] | null,
): Promise<readonly RescanRow[]> {
  const ids = named === null ? null : [...new Set(named)];
  const servers = ids?.join(", ").slice(0, 500) ?? "all";
  exchange.acting = { message: "Rescan", fields: { servers } };
  const snapshot = live.snapshot();
  const disabled = ids?.map((id) => knownServer(snapshot, id)).find(({ server }) => !server.enabled);
  if (disabled !== undefined) {
    const id = shown(disabled.server.id);
    throw new ApiError("CONFLICT", `Server ${id} is disabled in the config and is not polled.`);
  }
  const rows = await collector.rescan(ids, settings().rescanTimeoutMs);
  const failed = rows.flatMap(({ server, error }) => (error === null ? [] : [{ server, ...error }]));
  const [only] = failed;
  if (only !== undefined && failed.length === rows.length) {
    const { code, message, details } = only;
    if (ids?.length === 1) throw new ApiError(code, message, { details: details ?? undefined });
    const all = `Every poll failed (${failed.length} of ${rows.length} servers).`;
    const each = failed.map(({ server, code }) => `${server}: ${code}`).join("; ");
    throw new ApiError("UPSTREAM_ERROR", all, { details: each });
  }
  audit.done(exchange, "Rescan", { servers, polled: rows.length, failed: failed.length });
  return rows;
}
