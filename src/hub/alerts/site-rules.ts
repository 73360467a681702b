import { type AlertChange, isAtLeast, type Severity, type SiteRuleName } from "../../domain/alerts.ts";
import { countOf } from "../../domain/plain-text.ts";
import { HOUR_MS, iso, MINUTE_MS, span } from "../../domain/time/clock.ts";
import { fromRow, type Sql } from "../database/connect.ts";
import { isSilent } from "../push/take-push.ts";
import { type AlertAtHubRow, type News, publish } from "./stored-alerts.ts";

/** Alert rules about sites, and the judge that applies them. */

/** A site as the hub knows it. Times are epoch ms. */
export interface SiteLook {
  readonly site: string;
  readonly lastPushAt: number | null;
  /** Time at which the site announced its shutdown; null once the site has pushed again. */
  readonly stoppedAt: number | null;
  /** Time of the site's oldest waiting fact, by the site's clock; null = no fact is waiting. */
  readonly waitingSince: number | null;
  readonly waitingFacts: number;
  readonly clockOffsetMs: number | null;
  readonly version: string | null;
  /** Address of the accepted process. The next two fields describe the last refused push. */
  readonly address: string | null;
  readonly refusedAt: number | null;
  readonly refusedAddress: string | null;
  /** Number of facts that were set aside within {@link REFUSED_MS}. */
  readonly refusedFacts: number;
  readonly refusedReason: string | null;
}

interface SiteFinding {
  readonly severity: Severity;
  readonly message: string;
  readonly value: number | null;
  readonly threshold: number | null;
  /** Start of the condition; null means when this hub first saw the condition. */
  readonly since: number | null;
}

interface SiteRule {
  readonly rule: SiteRuleName;
  /** Time for which the condition must last before it fires. */
  readonly patienceMs: number;
  /** Returns null if all is well. The result `unknown` neither fires nor resolves an alert. */
  look(site: SiteLook, now: number, hubVersion: string): SiteFinding | null | "unknown";
}

/** Time for which an alert about facts that were set aside fires after the last such fact. */
const REFUSED_MS = 24 * HOUR_MS;
const BEHIND_MINUTES = 10;
const CLOCK_SECONDS = 60;
/** Maximum number of minor versions that a site may be behind the hub. */
const OLDER_MINORS = 2;
/** Time for which a refused push counts as recent. A refused process retries after a minute. */
const CLONE_MS = 90_000;

const finding = (
  severity: Severity,
  message: string,
  value: number | null = null,
  threshold: number | null = null,
  since: number | null = null,
): SiteFinding => ({ severity, message, value, threshold, since });

export const SITE_ALERT_RULES: readonly SiteRule[] = [
  {
    rule: "site_silent",
    // With the 30 s after which a site counts as silent, this makes 2 minutes, enough for a restart or an
    // update.
    patienceMs: 90_000,
    look(look, now) {
      const { site, lastPushAt, stoppedAt } = look;
      if (lastPushAt === null) return "unknown";
      if (!isSilent(look, now)) return null;
      if (stoppedAt !== null)
        return finding("warning", `${site} was stopped at ${iso(stoppedAt)}`, null, null, stoppedAt);
      return finding("critical", `${site} has been silent since ${iso(lastPushAt)}`, null, null, lastPushAt);
    },
  },
  {
    rule: "site_behind",
    // Allow for a backlog after an outage, which is sent within minutes.
    patienceMs: 2 * MINUTE_MS,
    look(look, now) {
      const { site, waitingSince, waitingFacts, clockOffsetMs } = look;
      if (isSilent(look, now)) return "unknown";
      const lagMs = waitingSince === null ? 0 : now + (clockOffsetMs ?? 0) - waitingSince;
      const minutes = Math.floor(lagMs / MINUTE_MS);
      if (minutes < BEHIND_MINUTES) return null;
      const message = `${site} is ${span(lagMs)} behind: ${countOf(waitingFacts, "fact")} wait there`;
      return finding("warning", message, minutes, BEHIND_MINUTES, now - lagMs);
    },
  },
  {
    rule: "site_clock",
    patienceMs: MINUTE_MS,
    look(look, now) {
      const { site, clockOffsetMs } = look;
      if (isSilent(look, now) || clockOffsetMs === null) return "unknown";
      const seconds = Math.round(Math.abs(clockOffsetMs) / 1000);
      if (seconds <= CLOCK_SECONDS) return null;
      const way = clockOffsetMs > 0 ? "ahead of" : "behind";
      const message = `The clock of ${site} is ${span(Math.abs(clockOffsetMs))} ${way} the hub's`;
      return finding("warning", message, seconds, CLOCK_SECONDS);
    },
  },
  {
    rule: "site_version",
    patienceMs: MINUTE_MS,
    look({ site, version }, _now, hubVersion) {
      const [own, theirs] = [numbersOf(hubVersion), numbersOf(version ?? "")];
      if (own === null || theirs === null) return "unknown";
      const newer = theirs.major - own.major || theirs.minor - own.minor;
      const runs = `${site} runs licmond ${version}, the hub ${hubVersion}`;
      if (newer > 0) return finding("warning", `${runs}: update the hub first`);
      const isOld = theirs.major < own.major || theirs.minor < own.minor - OLDER_MINORS;
      return isOld ? finding("warning", `${runs}: the site is too old for this hub`) : null;
    },
  },
  {
    rule: "site_refused",
    patienceMs: 0,
    look({ site, refusedFacts, refusedReason }) {
      if (refusedFacts === 0) return null;
      const what = `${countOf(refusedFacts, "fact")} of ${site} could not be stored and ${refusedFacts === 1 ? "was" : "were"} set aside`;
      return finding("warning", `${what}; latest reason: ${refusedReason ?? "unknown"}`, refusedFacts, 0);
    },
  },
  {
    rule: "site_clone",
    // Allow for a kill, after which the next process of the same site is refused for half a minute.
    patienceMs: 2 * MINUTE_MS,
    look({ site, address, refusedAt, refusedAddress }, now) {
      if (refusedAt === null || now - refusedAt > CLONE_MS) return null;
      const where = `one from ${address ?? "?"}, and one from ${refusedAddress ?? "?"}, which is refused`;
      return finding("critical", `Two processes push for ${site}: ${where}`);
    },
  },
];

function numbersOf(version: string): { readonly major: number; readonly minor: number } | null {
  const [, major, minor] = /^(\d+)\.(\d+)\./.exec(version) ?? [];
  return major === undefined ? null : { major: Number(major), minor: Number(minor) };
}

/** Maximum time between two looks. After a longer time, conditions count as new. */
const GAP_MS = 60_000;

export type Judge = ReturnType<typeof createJudge>;

/**
 * Applies the rules to all sites. Firing alerts are in PostgreSQL, so another hub can continue. Conditions
 * that have not fired yet are only in memory, and count as new after a restart.
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
    // The remaining alerts are about sites that no longer exist.
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

/** Fires an alert. If the condition had fired before, a silence of that earlier alert still applies. */
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
