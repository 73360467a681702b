import { type AlertChange, isAtLeast } from "../../domain/alerts.ts";
import { fromRow, type Sql } from "../database/connect.ts";
import { type AlertAtHubRow, type News, publish } from "./rows.ts";
import { REFUSED_MS, SITE_ALERT_RULES, type SiteFinding, type SiteLook, type SiteRule } from "./rules.ts";

/** After a longer gap between looks, conditions count as new. */
const GAP_MS = 60_000;

export type Judge = ReturnType<typeof createJudge>;

/**
 * Applies the rules to all sites. Firing alerts are in PostgreSQL, so another hub can continue. Conditions
 * that are not alerts yet are in memory, and count as new after a restart.
 */
export function createJudge(hubVersion: string) {
  const since = new Map<string, number>();
  let lookedAt = 0;

  async function look(tx: Sql, now: number): Promise<News[]> {
    if (Math.abs(now - lookedAt) > GAP_MS) since.clear();
    lookedAt = now;
    const sites = await looksOf(tx, now);
    const rows: AlertAtHubRow[] = await tx`
      SELECT * FROM alerts WHERE site_id IS NULL AND resolved_at IS NULL`;
    const firing = new Map(rows.map((row) => [keyOf(row), row]));
    const news: (News | null)[] = [];
    for (const site of sites) {
      for (const rule of SITE_ALERT_RULES) {
        const key = keyOf({ ...site, ...rule });
        news.push(await judge(tx, rule, site, firing.get(key) ?? null, key, now));
        firing.delete(key);
      }
    }
    // These sites no longer exist.
    for (const row of firing.values()) news.push(await resolve(tx, row, now));
    return news.filter((one) => one !== null);
  }

  async function judge(
    tx: Sql,
    rule: SiteRule,
    site: SiteLook,
    firing: AlertAtHubRow | null,
    key: string,
    now: number,
  ): Promise<News | null> {
    const found = rule.look(site, now, hubVersion);
    if (found === "unknown") return null;
    if (found === null) {
      since.delete(key);
      return firing === null ? null : resolve(tx, firing, now);
    }
    const seenAt = since.getOrInsert(key, now);
    if (firing !== null) return change(tx, firing, found, now);
    if (now - seenAt < rule.patienceMs) return null;
    return fire(tx, rule, site.site, found, found.since ?? seenAt, now);
  }

  return { look };
}

const keyOf = ({ site, rule }: { readonly site: string; readonly rule: string }) => `${rule} ${site}`;

async function looksOf(tx: Sql, now: number): Promise<SiteLook[]> {
  const rows: Record<string, unknown>[] = await tx`
    SELECT t.site, t.last_push_at, t.stopped_at, t.waiting_since, t.head - t.cursor AS waiting_facts, t.clock_offset_ms,
      t.info::json ->> 'version' AS version, t.address, t.refused_at, t.refused_address,
      coalesce(r.facts, 0)::int AS refused_facts, r.reason AS refused_reason
    FROM sites t LEFT JOIN (
      SELECT site, count(*) AS facts, (array_agg(reason ORDER BY at DESC))[1] AS reason
      FROM refused WHERE at > ${now - REFUSED_MS} GROUP BY site) r USING (site)`;
  return rows.map((row) => {
    const times = ["lastPushAt", "stoppedAt", "waitingSince", "refusedAt"] as const;
    const look = fromRow<SiteLook>(row, [...times, "waitingFacts", "clockOffsetMs"]);
    return { ...look, waitingFacts: Math.max(0, look.waitingFacts) };
  });
}

/** Fires an alert. A silence of the former alert still applies if the condition returns. */
async function fire(
  tx: Sql,
  { rule }: SiteRule,
  site: string,
  { severity, message, value, threshold }: SiteFinding,
  startedAt: number,
  now: number,
): Promise<News> {
  const [row] = await tx`
    INSERT INTO alerts (site, epoch, rule, severity, message, value, threshold, peak_value, started_at, fired_at, silenced_until)
    VALUES (${site}, 0, ${rule}, ${severity}, ${message}, ${value}, ${threshold}, ${value}, ${startedAt}, ${now},
      (SELECT max(silenced_until) FROM alerts WHERE site_id IS NULL AND site = ${site} AND rule = ${rule} AND silenced_until > ${now}))
    RETURNING *`;
  return publish(tx, row, "fired", now);
}

async function change(tx: Sql, before: AlertAtHubRow, found: SiteFinding, now: number): Promise<News | null> {
  const { severity, message, value, threshold } = found;
  if (severity === before.severity && message === before.message && value === before.value) return null;
  const [row] = await tx`
    UPDATE alerts SET severity = ${severity}, message = ${message}, value = ${value}, threshold = ${threshold},
      peak_value = greatest(peak_value, ${value})
    WHERE id = ${before.id} RETURNING *`;
  if (severity === before.severity) return null;
  const moved: AlertChange = isAtLeast(severity, before.severity) ? "raised" : "lowered";
  return publish(tx, row, moved, now);
}

async function resolve(tx: Sql, { id, started_at }: AlertAtHubRow, now: number): Promise<News> {
  const [row] = await tx`
    UPDATE alerts SET resolved_at = ${Math.max(now, Number(started_at))} WHERE id = ${id} RETURNING *`;
  return publish(tx, row, "resolved", now);
}
