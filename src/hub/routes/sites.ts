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
import { whole } from "../database/connect.ts";
import type { Reads } from "../database/reads.ts";
import { createConditions, partsOf } from "../lists/conditions.ts";
import { type Directory, sumOf } from "../lists/directory.ts";
import type { Sums } from "../push/sums.ts";
import { SILENT_MS } from "../push/take-push.ts";

/** A site whose facts wait longer is behind. */
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
  const rows: Row[] = await reads.pool().unsafe(
    `SELECT t.*, (SELECT count(*)::int FROM refused r WHERE r.site = t.site) AS refused, a.*
    FROM sites t, LATERAL (SELECT count(*) FILTER (WHERE severity = 'info')::int AS infos,
      count(*) FILTER (WHERE severity = 'warning')::int AS warnings,
      count(*) FILTER (WHERE severity = 'critical')::int AS criticals
      FROM alerts WHERE site = t.site AND resolved_at IS NULL) a
    WHERE ${where()} ORDER BY t.site`,
    values,
  );
  const servers = Map.groupBy(directory.snapshot().servers, ({ server }) => partsOf(server.id)[0]);
  const of = (pictures: readonly ServerPicture[]) => ({
    pictures,
    sums: directory.sums(pictures.map(({ server }) => server.id)),
  });
  return rows.map((row) => siteRecord(row, of(servers.get(row.site) ?? []), now));
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

interface Row
  extends Readonly<
    Record<
      "cursor" | "head" | "waiting_since" | "last_push_at" | "stopped_at" | "joined_at" | "clock_offset_ms",
      string | null
    >
  > {
  readonly site: string;
  readonly days_left: number | null;
  readonly info: string | null;
  readonly refused: number;
  readonly infos: number;
  readonly warnings: number;
  readonly criticals: number;
}

interface Servers {
  readonly pictures: readonly ServerPicture[];
  readonly sums: readonly Sums[];
}

function siteRecord(row: Row, { pictures, sums }: Servers, now: number): SiteRecord {
  const statuses = { up: 0, degraded: 0, down: 0, unknown: 0 };
  for (const { status } of pictures) statuses[status]++;
  const info = row.info === null ? null : JSON.parse(row.info);
  const lastPushAt = whole(row.last_push_at);
  const waitingSince = whole(row.waiting_since);
  const lagMs = waitingSince === null ? 0 : Math.max(0, now - waitingSince);
  const stoppedAt = whole(row.stopped_at);
  const isSilent = stoppedAt !== null || lastPushAt === null || now - lastPushAt > SILENT_MS;
  return {
    site: row.site,
    state: isSilent ? "silent" : lagMs > BEHIND_MS ? "behind" : "connected",
    lagFacts: isSilent || row.head === null ? null : Math.max(0, Number(row.head) - Number(row.cursor)),
    lagSeconds: isSilent ? null : Math.floor(lagMs / 1000),
    daysLeft: row.days_left,
    lastPushAt: iso(lastPushAt),
    stoppedAt: iso(stoppedAt),
    joinedAt: iso(Number(row.joined_at)),
    version: info?.version ?? null,
    clockOffsetMs: whole(row.clock_offset_ms),
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

/** Sums of a silent site may be old, so past days are skipped. */
function nextOf(sums: readonly Sums[], now: number): string | null {
  const today = new Date(now).toISOString().slice(0, 10);
  const days = sums.flatMap(({ nextExpiry }) =>
    nextExpiry !== null && nextExpiry >= today ? nextExpiry : [],
  );
  return days.sort()[0] ?? null;
}
