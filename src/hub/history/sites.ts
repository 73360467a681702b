import { DAY_MS } from "../../domain/time/clock.ts";
import type { Audience } from "../../domain/words.ts";
import type { SessionFilter } from "../../store/conditions.ts";
import { type Sql, whole } from "../database/connect.ts";
import { createConditions, partsOf } from "../lists/conditions.ts";
import { SILENT_MS } from "../push/take-push.ts";

/** State of a site's history at the hub. Times are epoch ms, days are days since 1970-01-01 UTC. */
export interface SiteMarks {
  readonly site: string;
  /** Time up to which facts are known. Coverage and sessions of a silent site end here. */
  readonly knownAt: number;
  readonly isSilent: boolean;
  readonly people: Audience | null;
  /** Time before which ended sessions are not kept; 0 = all are kept. */
  readonly sessionsFrom: number;
  readonly samplesFrom: number | null;
  readonly hoursFrom: number | null;
  /** First day that is not completely packed. */
  readonly openFrom: number | null;
}

export type Scope = Pick<SessionFilter, "sites" | "servers">;

export async function sitesOf(sql: Sql, { sites, servers }: Scope, now: number): Promise<SiteMarks[]> {
  const conditions = createConditions();
  const named = sites ?? (servers === null ? null : [...new Set(servers.map((id) => partsOf(id)[0]))]);
  conditions.oneOf("s.site", named);
  const edge = (which: "min" | "max", kind: string) =>
    `(SELECT ${which}(day) FROM packed_days p WHERE p.site = s.site AND kind = '${kind}')`;
  const rows: Record<string, string | number | null>[] = await sql.unsafe(
    `SELECT s.site, known_at, last_push_at, coalesce(sessions_from, 0) AS sessions_from, info::json ->> 'people' AS people, rolled, sampled, houred,
       CASE WHEN sampled IS NULL THEN (SELECT min(at) FROM steps WHERE steps.site = s.site) END AS stepped
     FROM sites s CROSS JOIN LATERAL (SELECT ${edge("max", "rollups")} AS rolled, ${edge("min", "samples")} AS sampled,
       ${edge("min", "hours")} AS houred) edges
     WHERE ${conditions.where()} ORDER BY s.site`,
    conditions.values,
  );
  return rows.map((row) => {
    const [rolled, sampled, houred] = [whole(row.rolled), whole(row.sampled), whole(row.houred)];
    const samplesFrom = sampled === null ? whole(row.stepped) : sampled * DAY_MS;
    const knownAt = whole(row.known_at) ?? now;
    const firstDay = samplesFrom === null ? null : Math.floor(samplesFrom / DAY_MS);
    return {
      site: String(row.site),
      knownAt,
      isSilent: now - (whole(row.last_push_at) ?? 0) > SILENT_MS,
      people: row.people as Audience | null,
      sessionsFrom: Number(row.sessions_from),
      samplesFrom,
      hoursFrom: houred === null ? null : houred * DAY_MS,
      openFrom: rolled === null ? firstDay : Math.min(rolled + 1, Math.floor(knownAt / DAY_MS)),
    };
  });
}
