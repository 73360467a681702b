import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { closestNames } from "../../config/closest-word.ts";
import { ApiError } from "../../domain/errors.ts";
import { permits } from "../../domain/keys.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import { SITE_STATES, SiteRecord } from "../../domain/service/sites.ts";
import { iso } from "../../domain/time/clock.ts";
import { formOf, send } from "../../http/answers/answer.ts";
import { type ListKind, listAnswer, listDoc, sortable } from "../../http/answers/list.ts";
import { documented } from "../../http/docs/documented.ts";
import { callerOf, type Exchange, gated } from "../../http/exchange.ts";
import { queryOf, STORED_LIST, shown, sortBy, storedPage, wordList } from "../../http/query.ts";
import type { RouteDeps } from "../../http/routes/deps.ts";
import { closestWords } from "../../http/snapshot.ts";
import { fromRow } from "../database/connect.ts";
import type { Reads } from "../database/reads.ts";
import { createConditions, partsOf } from "../lists/conditions.ts";
import { type Directory, sumOf } from "../lists/directory.ts";
import type { Sums } from "../push/sums.ts";
import { isSilent } from "../push/take-push.ts";

/** Time for which facts may wait before their site counts as behind. */
const BEHIND_MS = 60_000;

const SITES: ListKind<SiteRecord> = { plural: "sites", record: SiteRecord, identity: ["site"] };
const QUERY = queryOf({
  state: wordList(SITE_STATES, "States."),
  sort: sortBy(sortable<SiteRecord>(SiteRecord)),
  ...STORED_LIST,
});
const ID = Type.Object({ id: Type.String({ description: "Name of the site", example: "muc" }) });

export interface SitesDeps {
  readonly reads: Pick<Reads, "pool">;
  readonly directory: Directory;
}

export async function siteRecords(
  { reads, directory }: SitesDeps,
  sites: readonly string[] | null,
  now: number,
): Promise<SiteRecord[]> {
  const { oneOf, values, where } = createConditions();
  oneOf("t.site", sites);
  const rows: (Record<string, unknown> & { readonly site: string })[] = await reads.pool().unsafe(
    `SELECT t.*, (SELECT count(*)::int FROM refused r WHERE r.site = t.site) AS refused, a.*
    FROM sites t, LATERAL (SELECT count(*) FILTER (WHERE severity = 'info')::int AS infos,
      count(*) FILTER (WHERE severity = 'warning')::int AS warnings,
      count(*) FILTER (WHERE severity = 'critical')::int AS criticals
      FROM alerts WHERE site = t.site AND resolved_at IS NULL) a
    WHERE ${where()} ORDER BY t.site`,
    values,
  );
  const servers = Map.groupBy(directory.snapshot().servers, ({ server }) => partsOf(server.id)[0]);
  return rows.map((row) => {
    const pictures = servers.get(row.site) ?? [];
    return siteRecord(row, pictures, directory.sums(pictures.map(({ server }) => server.id)), now);
  });
}

export function siteRoutes({ clock }: Pick<RouteDeps, "clock">, deps: SitesDeps) {
  async function records(exchange: Exchange, sites: readonly string[] | null): Promise<SiteRecord[]> {
    const found = await siteRecords(deps, sites, clock.now());
    const seesLabels = permits(callerOf(exchange), "details");
    return seesLabels ? found : found.map((each) => ({ ...each, labels: {} }));
  }

  return new Elysia({ name: "routes/sites" })
    .use(gated)
    .get(
      "/api/fleet/sites",
      async ({ request, exchange, query }) => {
        const matched = (await records(exchange, null)).filter(
          ({ state }) => query.state?.includes(state) ?? true,
        );
        return send(
          request,
          listAnswer(SITES, matched, { ...query, ...storedPage(query) }, formOf(query, exchange)),
        );
      },
      documented("read", "Fleet", "Sites and the state of their connections", {
        query: QUERY,
        answers: { 200: listDoc("sites", SiteRecord, "Sites") },
      }),
    )
    .get(
      "/api/fleet/sites/:id",
      async ({ exchange, params }) => {
        const [found] = await records(exchange, [params.id]);
        if (found !== undefined) return found;
        const known = deps.directory.sites().map(({ site }) => site);
        const closest = closestWords(closestNames(params.id, new Set(known)));
        throw new ApiError(
          "NOT_FOUND",
          `Unknown site ${shown(params.id)}; /api/fleet/sites lists them.${closest}`,
        );
      },
      documented("read", "Fleet", "One site", {
        params: ID,
        answers: { 200: { description: "Site", schema: SiteRecord } },
      }),
    );
}

interface Row {
  readonly site: string;
  readonly daysLeft: number | null;
  readonly info: string | null;
  readonly cursor: number;
  readonly head: number | null;
  readonly waitingSince: number | null;
  readonly lastPushAt: number | null;
  readonly stoppedAt: number | null;
  readonly joinedAt: number;
  readonly clockOffsetMs: number | null;
  readonly refused: number;
  readonly infos: number;
  readonly warnings: number;
  readonly criticals: number;
}
const TIMES = ["waitingSince", "lastPushAt", "stoppedAt", "joinedAt", "clockOffsetMs"] as const;

function siteRecord(
  sent: Record<string, unknown>,
  pictures: readonly ServerPicture[],
  sums: readonly Sums[],
  now: number,
): SiteRecord {
  const row = fromRow<Row>(sent, ["cursor", "head", ...TIMES]);
  const { waitingSince, lastPushAt, stoppedAt } = row;
  const statuses = { up: 0, degraded: 0, down: 0, unknown: 0 };
  for (const { status } of pictures) statuses[status]++;
  const info = row.info === null ? null : JSON.parse(row.info);
  const lagMs = waitingSince === null ? 0 : Math.max(0, now - waitingSince);
  const silent = isSilent(row, now);
  return {
    site: row.site,
    state: silent ? "silent" : lagMs > BEHIND_MS ? "behind" : "connected",
    lagFacts: silent || row.head === null ? null : Math.max(0, row.head - row.cursor),
    lagSeconds: silent ? null : Math.floor(lagMs / 1000),
    daysLeft: row.daysLeft,
    lastPushAt: iso(lastPushAt),
    stoppedAt: iso(stoppedAt),
    joinedAt: iso(row.joinedAt),
    version: info?.version ?? null,
    clockOffsetMs: row.clockOffsetMs,
    servers: pictures.length,
    statuses,
    features: sumOf(sums, "features"),
    fullFeatures: sumOf(sums, "full"),
    alerts: { info: row.infos, warning: row.warnings, critical: row.criticals },
    nextExpiry: nextOf(sums, now),
    refusedFacts: row.refused,
    timezone: info?.timezone ?? null,
    people: info?.people ?? null,
    labels: info?.labels ?? {},
  };
}

/** Returns the next expiry. Skips past days, because the sums of a silent site may be old. */
function nextOf(sums: readonly Sums[], now: number): string | null {
  const today = new Date(now).toISOString().slice(0, 10);
  const days = sums.flatMap(({ nextExpiry }) =>
    nextExpiry !== null && nextExpiry >= today ? nextExpiry : [],
  );
  return days.sort()[0] ?? null;
}
