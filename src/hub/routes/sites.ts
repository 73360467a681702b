import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { closestNames } from "../../config/closest-word.ts";
import { ApiError } from "../../domain/errors.ts";
import { Count, nullable, record, Timestamp, words } from "../../domain/records.ts";
import { iso } from "../../domain/time/clock.ts";
import { AUDIENCES } from "../../domain/words.ts";
import { formatOf, send } from "../../http/answers/answer.ts";
import { type ListKind, listAnswer, listDoc, sortable } from "../../http/answers/list.ts";
import { documented } from "../../http/docs/documented.ts";
import { gated } from "../../http/exchange.ts";
import { queryOf, shown, sortBy, storedPage, wordList } from "../../http/query.ts";
import type { RouteDeps } from "../../http/routes/deps.ts";
import { closestWords } from "../../http/snapshot.ts";
import { type Pool, whole } from "../database/connect.ts";
import { PAGE } from "../lists/scope.ts";
import { SILENT_MS } from "../push/take-push.ts";

const STATES = ["connected", "behind", "silent"] as const;
/** A site with facts that wait for longer is behind. */
const BEHIND_MS = 60_000;

export const SiteRecord = record("Site", {
  site: Type.String(),
  state: words(
    STATES,
    "silent: nothing was heard of it for 30 s; behind: it has facts that have waited for more than a minute",
  ),
  lagFacts: nullable(
    Type.Integer({
      minimum: 0,
      description: "Facts that the site has and the hub has not, as of its last push",
    }),
  ),
  lagSeconds: nullable(Type.Integer({ minimum: 0, description: "How old the oldest of these is" })),
  daysLeft: nullable(
    Type.Integer({ minimum: 0, description: "Days of the past that are still to come; null: none" }),
  ),
  lastPushAt: nullable(Timestamp),
  joinedAt: Timestamp,
  version: nullable(Type.String({ description: "Of licmond there" })),
  clockOffsetMs: nullable(Type.Integer({ description: "The site's clock minus the hub's at its last push" })),
  servers: Count,
  refusedFacts: Type.Integer({ minimum: 0, description: "That could not be taken, and were set aside" }),
  timezone: nullable(Type.String()),
  people: nullable(words(AUDIENCES)),
  labels: Type.Record(Type.String(), Type.String()),
});
export type SiteRecord = Static<typeof SiteRecord>;

const SITES: ListKind<SiteRecord> = { plural: "sites", record: SiteRecord, identity: ["site"] };
const QUERY = queryOf({
  state: wordList(STATES, "States."),
  sort: sortBy(sortable<SiteRecord>(SiteRecord)),
  ...PAGE,
});
const ID = Type.Object({ id: Type.String({ description: "Name of the site", example: "muc" }) });

/** The sites of a fleet, and how far the hub is behind each. */
export function siteRoutes({ clock }: Pick<RouteDeps, "clock">, pool: Pool) {
  async function records(): Promise<SiteRecord[]> {
    const rows = await pool`
      SELECT t.*, (SELECT count(*)::int FROM servers s WHERE s.site = t.site) AS servers,
        (SELECT count(*)::int FROM refused r WHERE r.site = t.site) AS refused
      FROM sites t ORDER BY t.site`;
    return rows.map((row: Row) => siteRecord(row, clock.now()));
  }

  return new Elysia({ name: "routes/sites" })
    .use(gated)
    .get(
      "/api/fleet/sites",
      async ({ request, query }) => {
        const matched = (await records()).filter(({ state }) => query.state?.includes(state) ?? true);
        return send(
          request,
          listAnswer(SITES, matched, { ...query, ...storedPage(query) }, formatOf(query, request)),
        );
      },
      documented("read", "Fleet", "Sites, and how the hub stands to each", {
        query: QUERY,
        answers: { 200: listDoc("sites", SiteRecord, "Sites") },
      }),
    )
    .get(
      "/api/fleet/sites/:id",
      async ({ params }) => {
        const all = await records();
        const found = all.find(({ site }) => site === params.id);
        if (found !== undefined) return found;
        const closest = closestWords(closestNames(params.id, new Set(all.map(({ site }) => site))));
        throw new ApiError(
          "NOT_FOUND",
          `There is no site ${shown(params.id)}; /api/fleet/sites lists them.${closest}`,
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
      "cursor" | "head" | "waiting_since" | "last_push_at" | "joined_at" | "clock_offset_ms",
      string | null
    >
  > {
  readonly site: string;
  readonly days_left: number | null;
  readonly info: string | null;
  readonly servers: number;
  readonly refused: number;
}

function siteRecord(row: Row, now: number): SiteRecord {
  const info = row.info === null ? null : JSON.parse(row.info);
  const lastPushAt = whole(row.last_push_at);
  const waitingSince = whole(row.waiting_since);
  const lagMs = waitingSince === null ? 0 : Math.max(0, now - waitingSince);
  const isSilent = lastPushAt === null || now - lastPushAt > SILENT_MS;
  return {
    site: row.site,
    state: isSilent ? "silent" : lagMs > BEHIND_MS ? "behind" : "connected",
    // What a silent site has by now nobody knows.
    lagFacts: isSilent || row.head === null ? null : Math.max(0, Number(row.head) - Number(row.cursor)),
    lagSeconds: isSilent ? null : Math.floor(lagMs / 1000),
    daysLeft: row.days_left,
    lastPushAt: iso(lastPushAt),
    joinedAt: iso(Number(row.joined_at)),
    version: info?.version ?? null,
    clockOffsetMs: whole(row.clock_offset_ms),
    servers: row.servers,
    refusedFacts: row.refused,
    timezone: info?.timezone ?? null,
    people: info?.people ?? null,
    labels: info?.labels ?? {},
  };
}
