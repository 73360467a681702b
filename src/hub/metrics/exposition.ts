import type { AlertRule, Severity } from "../../domain/alerts.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import { serverAt } from "../../domain/server.ts";
import { inSlices } from "../../domain/time/slices.ts";
import { createLines, type Fragments, joined } from "../../export/exposition.ts";
import { type Emit, NO_LABELS, type TextFormat } from "../../export/family.ts";
import { emitService } from "../../export/meters.ts";
import { emitServer } from "../../export/server-metrics.ts";
import { pick } from "../../http/records.ts";
import type { RouteDeps } from "../../http/routes/deps.ts";
import type { MetricsSource } from "../../http/routes/metrics.ts";
import { namedServers } from "../../http/snapshot.ts";
import { readProcessMetrics } from "../../system/host-metrics.ts";
import type { Reads } from "../database/reads.ts";
import { createConditions, partsOf } from "../lists/conditions.ts";
import type { Directory } from "../lists/directory.ts";
import { sumOf } from "../lists/directory.ts";
import { featureOf } from "../lists/features.ts";
import { serversIn } from "../lists/scope.ts";
import { fleetSummary } from "../lists/summary.ts";
import { type SitesDeps, siteRecords } from "../routes/sites.ts";
import { emitSite, HUB } from "./families.ts";

/** Approximate number of lines, of 100 bytes each, per server and per feature. */
const SERVER_LINES = 24;
const FEATURE_LINES = 12;
/** About 25 MB of text. Beyond it, features are left out and counted. */
export const MAX_LINES = 250_000;
/** Number of servers whose features are in memory at once. */
const SERVERS_A_STEP = 20;

/** Metrics of sites, their servers and the hub itself. */
export function fleetMetrics(
  { clock, daemon, build, meters, snapshotFor }: RouteDeps,
  sites: SitesDeps,
): MetricsSource {
  const { reads, directory } = sites;
  const exposition = createFleetExposition(sites);

  /** Reads the metrics of the fleet's alerts and stream, and of the hub itself. */
  async function ownMetrics(): Promise<(emit: Emit) => void> {
    const sql = reads.pool();
    const [firing, [row]]: [{ rule: AlertRule; severity: Severity }[], Record<string, string | null>[]] =
      await Promise.all([
        sql`SELECT rule, severity FROM alerts WHERE resolved_at IS NULL LIMIT 100000`,
        sql`SELECT pg_database_size(current_database()) AS size, (SELECT min(received_at) FROM new_events) AS waits`,
      ]);
    const { size = null, waits = null } = row ?? {};
    const waitsMs = waits === null ? 0 : Math.max(0, clock.now() - Number(waits));
    const view = {
      build,
      firing,
      ...pick(daemon.status(), "streams", "eventLoopLagMs", "startedAt", "lastReload"),
      runningPolls: 0,
      databaseBytes: Number(size),
      disk: null,
      process: readProcessMetrics(),
    };
    return (emit) => {
      emitService(view, emit);
      emit(HUB.publishing, NO_LABELS, waitsMs / 1000);
      meters(emit);
    };
  }

  return {
    ofSites: true,
    async seats(query) {
      const { seats, utilization } = await fleetSummary(reads.pool(), directory, serversIn(directory, query));
      return { total: seats.total, used: seats.used, utilization };
    },
    async render(exchange, query, format) {
      const ids = serversIn(directory, query);
      const records = await siteRecords(sites, query.site ?? null, clock.now());
      const own = await ownMetrics();
      const service = (emit: Emit) => {
        for (const site of records) emitSite(site, emit);
        own(emit);
      };
      return exposition.render(namedServers(snapshotFor(exchange), ids), service, format);
    },
  };
}

/**
 * Writes the metrics of a fleet, a few servers at a time, to bound memory. Metrics of a site's servers have
 * its `site` label and otherwise equal the site's own.
 */
export function createFleetExposition(
  { reads, directory }: { readonly reads: Pick<Reads, "pool">; readonly directory: Directory },
  maxLines = MAX_LINES,
) {
  let writing: Promise<unknown> = Promise.resolve();

  async function write(servers: readonly ServerPicture[], service: (emit: Emit) => void, format: TextFormat) {
    const features = sumOf(directory.sums(servers.map(({ server }) => server.id)), "features");
    const ofServers = servers.length * SERVER_LINES;
    const hasServers = ofServers <= maxLines;
    const hasFeatures = ofServers + features * FEATURE_LINES <= maxLines;
    const fragments: Fragments[] = [];
    for (let at = 0; hasServers && at < servers.length; at += SERVERS_A_STEP) {
      const some = servers.slice(at, at + SERVERS_A_STEP);
      const pictures = hasFeatures ? await withFeatures(some) : some;
      fragments.push(await inSlices(linesOf(pictures, hasFeatures)));
    }
    const own = createLines();
    service(own.emit);
    own.emit(HUB.leftOut, [["what", "servers"]], hasServers ? 0 : servers.length);
    own.emit(HUB.leftOut, [["what", "features"]], hasFeatures ? 0 : features);
    return joined([...fragments, [...own.encoded()]], format);
  }

  async function withFeatures(heads: readonly ServerPicture[]): Promise<ServerPicture[]> {
    const conditions = createConditions();
    conditions.servers(
      "f",
      heads.map(({ server }) => server.id),
    );
    const rows: { site: string; server: string; body: string; checkouts: number }[] = await reads
      .pool()
      .unsafe(
        `SELECT site, server, body, checkouts FROM current_features f WHERE ${conditions.where()} ORDER BY site, server, place`,
        conditions.values,
      );
    const byServer = Map.groupBy(rows, ({ site, server }) => serverAt(site, server));
    return heads.map((head) => {
      const { id, site = "" } = head.server;
      const features = (byServer.get(id) ?? []).map(({ body, checkouts }) => ({
        ...featureOf(body, head.collectedAt, directory.isSilent(site)),
        // Only the length is used.
        checkouts: new Array(checkouts),
      }));
      return { ...head, features };
    });
  }

  return {
    /** One scrape at a time, to bound memory. */
    render(...asked: Parameters<typeof write>) {
      const turn = () => write(...asked);
      const written = writing.then(turn, turn);
      writing = written.catch(() => {});
      return written;
    },
  };
}

function* linesOf(pictures: readonly ServerPicture[], hasFeatures: boolean): Generator<void, Fragments> {
  const lines = createLines();
  for (const picture of pictures) {
    const [site, id] = partsOf(picture.server.id);
    const steps = emitServer({ ...picture, server: { ...picture.server, id } }, lines.emit, [["site", site]]);
    // The first step covers the server alone.
    if (hasFeatures) yield* steps;
    else steps.next();
    yield;
  }
  return [...lines.encoded()];
}
