import type { Severity, SiteRuleName } from "../../domain/alerts.ts";
import { countOf } from "../../domain/plain-text.ts";
import { HOUR_MS, iso, MINUTE_MS, span } from "../../domain/time/clock.ts";
import { SILENT_MS } from "../push/take-push.ts";

/** Alert rules about sites, one row each. Pure; `judge.ts` applies them. */

/** A site as the hub knows it. Times are epoch ms. */
export interface SiteLook {
  readonly site: string;
  readonly lastPushAt: number | null;
  /** When it announced its shutdown; null once it has pushed again. */
  readonly stoppedAt: number | null;
  /** Time of the site's oldest waiting fact, by its clock; null = none. */
  readonly waitingSince: number | null;
  readonly waitingFacts: number;
  readonly clockOffsetMs: number | null;
  readonly version: string | null;
  /** Address of accepted pushes. The next two describe the last push by another process. */
  readonly address: string | null;
  readonly refusedAt: number | null;
  readonly refusedAddress: string | null;
  /** Facts set aside within {@link REFUSED_MS}. */
  readonly refusedFacts: number;
  readonly refusedReason: string | null;
}

export interface SiteFinding {
  readonly severity: Severity;
  readonly message: string;
  readonly value: number | null;
  readonly threshold: number | null;
  /** Null = since first seen. */
  readonly since: number | null;
}

export interface SiteRule {
  readonly rule: SiteRuleName;
  /** How long the condition must last before it fires. */
  readonly patienceMs: number;
  /** Returns null if all is well; `unknown` neither fires nor resolves an alert. */
  look(site: SiteLook, now: number, hubVersion: string): SiteFinding | null | "unknown";
}

/** Alerts about facts that were set aside end this long after the last one. */
export const REFUSED_MS = 24 * HOUR_MS;
const BEHIND_MINUTES = 10;
const CLOCK_SECONDS = 60;
/** Minor versions older than the hub's that it still supports. */
const OLDER_MINORS = 2;
/** A second process retries once a minute. */
const CLONE_MS = 90_000;

const finding = (
  severity: Severity,
  message: string,
  value: number | null = null,
  threshold: number | null = null,
  since: number | null = null,
): SiteFinding => ({ severity, message, value, threshold, since });

const isSilent = ({ lastPushAt, stoppedAt }: SiteLook, now: number) =>
  stoppedAt !== null || lastPushAt === null || now - lastPushAt > SILENT_MS;

export const SITE_ALERT_RULES: readonly SiteRule[] = [
  {
    rule: "site_silent",
    // Plus the 30 s after which a site counts as silent: 2 minutes, enough for a restart or an update.
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
    // A backlog after an outage is sent within minutes.
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
      return isOld ? finding("warning", `${runs}: the site is too old for it`) : null;
    },
  },
  {
    rule: "site_refused",
    patienceMs: 0,
    look({ site, refusedFacts, refusedReason }) {
      if (refusedFacts === 0) return null;
      const what = `${countOf(refusedFacts, "fact")} of ${site} could not be stored and ${refusedFacts === 1 ? "was" : "were"} set aside`;
      return finding(
        "warning",
        `${what}; the last one: ${refusedReason ?? "for no known reason"}`,
        refusedFacts,
        0,
      );
    },
  },
  {
    rule: "site_clone",
    // After a kill, the next process of a site is refused for half a minute.
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
