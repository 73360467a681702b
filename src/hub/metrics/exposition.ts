import type { AlertRule, Severity } from "../../domain/alerts.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import { serverAt } from "../../domain/server.ts";
import { SITE_STATES, type SiteRecord } from "../../domain/service/sites.ts";
import { inSlices } from "../../domain/time/slices.ts";
import { createLines, type Fragments, joined } from "../../export/exposition.ts";
import {
  counter,
  type Emit,
  emitKnown,
  emitOneOf,
  gauge,
  type Labels,
  NO_LABELS,
  seconds,
  type TextFormat,
} from "../../export/family.ts";
import { emitService } from "../../export/meters.ts";
import { emitServer } from "../../export/server-metrics.ts";
import { pick } from "../../http/records.ts";
import type { RouteDeps } from "../../http/routes/deps.ts";
import type { MetricsSource } from "../../http/routes/metrics.ts";
import { namedServers } from "../../http/snapshot.ts";
import { readProcessMetrics } from "../../system/host-metrics.ts";
import type { Reads } from "../database/reads.ts";
import { createConditions, partsOf } from "../lists/conditions.ts";
import { type Directory, serversIn, sumOf } from "../lists/directory.ts";
import { featureOf } from "../lists/features-and-users.ts";
import { fleetSummary } from "../lists/summary.ts";
import { type SitesDeps, siteRecords } from "../routes/sites.ts";

/** Approximate number of lines, of 100 bytes each, per server and per feature. */
const SERVER_LINES = 24;
const FEATURE_LINES = 12;
/** Maximum number of lines, about 25 MB of text. Features beyond this limit are left out and counted. */
const MAX_LINES = 250_000;
const SERVERS_A_STEP = 20;

export function fleetMetrics(
  { clock, daemon, build, meters, snapshotFor }: RouteDeps,
  sites: SitesDeps,
): MetricsSource {
  const { reads, directory } = sites;
  const exposition = createFleetExposition(sites);

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
 * Writes the metrics of a fleet, a few servers at a time. The metrics of a server equal those of its site's
 * own exposition, apart from the label `site`.
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
        // Only the length of this array is used.
        checkouts: new Array(checkouts),
      }));
      return { ...head, features };
    });
  }

  return {
    /** Renders one scrape at a time, to bound memory. */
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
    // Without features, take only the first step, which covers the server itself.
    if (hasFeatures) yield* steps;
    else steps.next();
    yield;
  }
  return [...lines.encoded()];
}

export const SITE = {
  info: gauge(
    "licmond_site_info",
    "Always 1; licmond version at the site, and how it names people to the hub.",
  ),
  state: gauge(
    "licmond_site_state",
    "1 for the current state (connected, behind, silent), 0 for the others.",
  ),
  lagFacts: gauge(
    "licmond_site_lag_facts",
    "Facts of the site that the hub does not have yet; absent while the site is silent.",
  ),
  lag: gauge(
    "licmond_site_lag_seconds",
    "Age of the oldest fact of the site that the hub does not have yet; absent while the site is silent.",
  ),
  pushed: gauge(
    "licmond_site_last_push_timestamp_seconds",
    "Time of the last stored push, by the hub's clock.",
  ),
  refused: gauge("licmond_site_refused_facts", "Facts and days that could not be stored and were set aside."),
  daysLeft: gauge(
    "licmond_site_backfill_remaining",
    "Past days that the site has yet to send; absent if it has sent all.",
  ),
  clock: gauge("licmond_site_clock_offset_seconds", "The site's clock minus the hub's at the last push."),
} as const;

export const HUB = {
  pushes: counter("licmond_hub_pushes_total", "Pushes by outcome, since the start of this hub."),
  facts: counter("licmond_hub_facts_total", "Facts in pushes; facts that were sent again count again."),
  publishing: gauge(
    "licmond_hub_publish_lag_seconds",
    "Age of the oldest event that is waiting to be published.",
  ),
  leftOut: gauge(
    "licmond_hub_left_out",
    "Servers and features whose series are left out because there are too many: narrow the scrape with site=.",
  ),
} as const;

function emitSite(site: SiteRecord, emit: Emit): void {
  const labels: Labels = [["site", site.site]];
  const { version, people, lagFacts, lagSeconds, lastPushAt, clockOffsetMs } = site;
  emit(SITE.info, [...labels, ["version", version ?? ""], ["people", people ?? ""]], 1);
  emitOneOf(emit, SITE.state, labels, "state", SITE_STATES, site.state);
  emitKnown(emit, SITE.lagFacts, labels, lagFacts);
  emitKnown(emit, SITE.lag, labels, lagSeconds);
  emitKnown(emit, SITE.pushed, labels, lastPushAt === null ? null : Date.parse(lastPushAt) / 1000);
  emit(SITE.refused, labels, site.refusedFacts);
  emitKnown(emit, SITE.daysLeft, labels, site.daysLeft);
  emitKnown(emit, SITE.clock, labels, seconds(clockOffsetMs));
}
