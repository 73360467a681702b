import type { AlertRecord, AlertRule } from "../../domain/alerts.ts";
import { plural } from "../format.ts";
import { IS_FLEET } from "../here.ts";
import { isUnhandled, type SitesAlert, type Tone, toneOf } from "../live/alerts.ts";
import { daysLeft, type FeatureRow, featuresOf, type Place, type Site } from "../model.ts";
import {
  CONDITIONS,
  conditionOf,
  isOld,
  isTroubled,
  type Kind,
  kindOf,
  MARK_OF,
  placeOf,
  readAt,
} from "./condition.ts";

export interface Trouble {
  readonly id: string;
  readonly mark: (typeof MARK_OF)[Kind] | "info";
  readonly tone: (typeof MARK_OF)[Kind] | Tone;
  readonly subject: string;
  readonly to: Place | null;
  readonly text: string;
  /** Start in epoch ms; null if a start has no meaning here. */
  readonly since: number | null;
  /** Days until a license expires; negative if it has expired. */
  readonly days: number | null;
  /** The alert to acknowledge; null unless there is exactly one. */
  readonly alert: SitesAlert | null;
}

export const MARK_WORDS: Readonly<Record<Trouble["mark"], string>> = {
  crit: "Crit",
  warn: "Warn",
  stale: "Stale",
  partial: "Partial",
  unknown: "New",
  info: "Info",
  ok: "Fine",
};
export const SEVERITY_MARKS = { critical: "crit", warning: "warn", info: "info" } as const;
const OF_SERVER: ReadonlySet<string> = new Set(["server_down", "server_degraded", "daemon_down", "stale"]);
const NOTHING = { since: null, days: null, alert: null } as const;
const ORDER: readonly Trouble["mark"][] = ["crit", "warn", "stale", "partial", "unknown", "info", "ok"];
const rank = ({ mark, days }: Trouble) => 2 * ORDER.indexOf(mark) + (days === null ? 0 : 1);

/**
 * Returns unhandled firing alerts, and servers that have problems but no alert. The worst come first,
 * expiries last. Licenses that expire on one day are one entry.
 */
export function troublesOf(site: Site, firing: readonly SitesAlert[], now: number): Trouble[] {
  const isExpiring = ({ rule, value }: AlertRecord) => rule === "expiry" && (value ?? -1) >= 0;
  const open = firing.filter((alert) => isUnhandled(alert, now));
  const days = Map.groupBy(
    open.filter(isExpiring),
    (alert) => rowOf(site, alert)?.feature.expiresOn ?? (IS_FLEET ? alert.value : alert),
  );
  const told = new Set(firing.filter(({ rule }) => OF_SERVER.has(rule)).map(({ server }) => server));
  return [
    ...open.filter((alert) => !isExpiring(alert)).map((alert) => troubleOf(site, alert, now)),
    ...[...site.values()]
      .filter((server) => isTroubled(server) && !told.has(server.id))
      .map((server): Trouble => {
        const { id } = server;
        const [mark, text] = [MARK_OF[kindOf(server)], conditionOf(server)];
        const since = isOld(server) ? readAt(server) : null;
        return { ...NOTHING, id, mark, tone: mark, subject: id, to: placeOf(server), text, since };
      }),
    ...[...days.values()].map((alerts) => togetherOf(site, alerts, now)),
  ].sort((a, b) => rank(a) - rank(b) || (b.since ?? 0) - (a.since ?? 0));
}

function rowOf(site: Site, { server, daemon, feature }: AlertRecord): FeatureRow | undefined {
  const held = site.get(server ?? "");
  return (
    held && featuresOf(held).find((row) => row.feature.name === feature && row.feature.daemon === daemon)
  );
}

/** Condition of a server by the rule that fires. Used for a fleet, which has no pictures of its servers. */
const KIND_BY_RULE: Readonly<Partial<Record<AlertRecord["rule"], Kind>>> = IS_FLEET
  ? { server_down: "down", server_degraded: "degraded", stale: "stale" }
  : {};

export const alertWords = (value: number | null, daemon: string | null): Record<AlertRule, string> => ({
  server_down: "was down",
  server_degraded: "was degraded",
  daemon_down: `runs without ${daemon ?? "a daemon"}`,
  seats: (value ?? 0) >= 100 ? "is full" : `is ${Math.floor(value ?? 0)} % in use`,
  expiry: (value ?? 0) < 0 ? "expired" : "expires",
  denials: "denies requests",
  held_too_long: "is held for too long",
  stale: "was stale",
  unparsed: "returns lines that licmond does not know",
  totals_changed: "has a changed total",
  disk: "The disk is nearly full",
  clock: "has a different time than this host",
  outbox: "Too many facts wait for the hub",
  site_silent: "is silent",
  site_behind: "is behind",
  site_clock: "has a different time than the hub",
  site_version: "has an incompatible version",
  site_refused: "sends facts that cannot be stored",
  site_clone: "runs twice",
});

function textOf({ rule, daemon, value, message }: AlertRecord): string {
  const kind = KIND_BY_RULE[rule];
  // Some rules of a hub have no text here: use the alert's message.
  return kind === undefined ? (alertWords(value, daemon)[rule] ?? message) : CONDITIONS[kind];
}

function troubleOf(site: Site, alert: SitesAlert, now: number): Trouble {
  const { rule, server, feature, value } = alert;
  const held = site.get(server ?? "");
  const isOfServer = OF_SERVER.has(rule) && held !== undefined && kindOf(held) !== "fine";
  const row = rule === "expiry" ? rowOf(site, alert) : undefined;
  return {
    id: `${alert.id}`,
    mark: SEVERITY_MARKS[alert.severity],
    tone: toneOf(alert),
    subject: feature ?? server ?? alert.site ?? "",
    to: subjectOf(alert),
    text: isOfServer && rule !== "daemon_down" ? conditionOf(held) : textOf(alert),
    since: Date.parse(alert.startedAt),
    days: rule === "expiry" ? ((row && daysLeft(row, now)) ?? value) : null,
    alert,
  };
}

export function subjectOf({ server, daemon, feature, site }: SitesAlert): Place | null {
  if (server === null) return site === undefined ? null : { path: "servers", query: { site } };
  if (feature === null || daemon === null) return placeOf({ id: server });
  return { path: "feature", query: { server, daemon, name: feature } };
}

function togetherOf(site: Site, alerts: readonly SitesAlert[], now: number): Trouble {
  const troubles = alerts.map((alert) => troubleOf(site, alert, now)).sort((a, b) => rank(a) - rank(b));
  const [worst] = troubles as [Trouble, ...Trouble[]];
  if (alerts.length === 1) return worst;
  return {
    ...worst,
    ...NOTHING,
    days: worst.days,
    subject: plural(alerts.length, "feature"),
    to: { path: "alerts", query: { rule: "expiry" } },
    text: "expire",
  };
}
