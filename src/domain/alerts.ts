import { type Static, Type } from "@sinclair/typebox";
import { count, nullable, OfHub, OfSite, record, Timestamp, textOrNull, time, words } from "./records.ts";
import { iso } from "./time/clock.ts";
import { UNITS, type Unit } from "./words.ts";

export const DAEMON_RULES = [
  "server_down",
  "server_degraded",
  "daemon_down",
  "seats",
  "expiry",
  "denials",
  "held_too_long",
  "stale",
  "unparsed",
  "totals_changed",
  "disk",
  "clock",
  "outbox",
] as const;
export const SITE_RULES = [
  "site_silent",
  "site_behind",
  "site_clock",
  "site_version",
  "site_refused",
  "site_clone",
] as const;
export type SiteRuleName = (typeof SITE_RULES)[number];
export const ALERT_RULES = [...DAEMON_RULES, ...SITE_RULES] as const;
export type AlertRule = (typeof ALERT_RULES)[number];

/** Rules from before 0.2 that are now `seats`; configs and filters may still name them. */
export const OLD_SEATS_RULES: readonly string[] = ["usage", "seats_exhausted", "queue"];

/** Returns the current name of a rule; leaves other names and patterns unchanged. */
export function presentRule(name: string): string {
  return OLD_SEATS_RULES.includes(name) ? "seats" : name;
}

/** Weakest first. */
export const SEVERITIES = ["info", "warning", "critical"] as const;
export type Severity = (typeof SEVERITIES)[number];

export const ALERT_STATES = ["firing", "resolved"] as const;
export type AlertState = (typeof ALERT_STATES)[number];

export const ALERT_CHANGES = ["fired", "raised", "lowered", "resolved", "acknowledged", "silenced"] as const;
export type AlertChange = (typeof ALERT_CHANGES)[number];

/** Subject of an alert; fields that do not apply are null. Alerts with equal subjects are the same alert. */
export interface AlertSubject {
  readonly rule: AlertRule;
  readonly server: string | null;
  readonly daemon: string | null;
  readonly feature: string | null;
  /** Distinguishes subjects within one feature, e.g. by holder. Never shown. */
  readonly detail: string | null;
}

export function subjectKey({ rule, server, daemon, feature, detail }: AlertSubject): string {
  return [rule, server, daemon, feature, detail].map((part) => part ?? "").join("\0");
}

export const AlertFields = {
  ...OfSite,
  rule: words(ALERT_RULES),
  severity: words(SEVERITIES),
  state: words(ALERT_STATES),
  server: nullable(Type.String()),
  daemon: nullable(Type.String()),
  feature: nullable(Type.String()),
  message: Type.String(),
  value: nullable(Type.Number({ description: "Observed value, in the rule's unit" })),
  threshold: nullable(Type.Number({ description: "The exceeded limit" })),
  peakValue: nullable(Type.Number({ description: "The worst value so far" })),
  startedAt: time("When the condition began"),
  firedAt: time("When the alert was raised"),
  resolvedAt: nullable(Timestamp),
  durationSeconds: count("From start to end, or to now"),
  acknowledged: Type.Boolean(),
  acknowledgedAt: nullable(Timestamp),
  acknowledgedBy: textOrNull("Name of the key"),
  comment: nullable(Type.String()),
  silencedUntil: nullable(Timestamp),
};

export const AlertRecord = record("Alert", { id: Type.Integer({ minimum: 1 }), ...OfHub, ...AlertFields });
export type AlertRecord = Static<typeof AlertRecord>;

/** A stored alert: its record with times as epoch ms, and internal fields. */
export interface Alert
  extends AlertSubject,
    Pick<
      AlertRecord,
      "id" | "severity" | "message" | "value" | "threshold" | "peakValue" | "acknowledgedBy" | "comment"
    > {
  readonly startedAt: number;
  readonly firedAt: number;
  readonly resolvedAt: number | null;
  readonly acknowledgedAt: number | null;
  readonly silencedUntil: number | null;
  /** Time at which each notification target was last notified about the alert, by target id. */
  readonly told: Readonly<Record<string, number>>;
}

export function alertRecord(alert: Omit<Alert, "detail" | "told">, now: number): AlertRecord {
  const { id, rule, severity, server, daemon, feature, message, value, threshold, peakValue } = alert;
  const { startedAt, resolvedAt, acknowledgedAt, acknowledgedBy, comment } = alert;
  const state: AlertState = resolvedAt === null ? "firing" : "resolved";
  const acknowledged = acknowledgedAt !== null;
  const what = { id, rule, severity, state, server, daemon, feature, message, value, threshold, peakValue };
  return {
    ...what,
    startedAt: iso(startedAt),
    firedAt: iso(alert.firedAt),
    resolvedAt: iso(resolvedAt),
    durationSeconds: Math.max(0, Math.floor(((resolvedAt ?? now) - startedAt) / 1000)),
    acknowledged,
    acknowledgedAt: iso(acknowledgedAt),
    acknowledgedBy,
    comment,
    silencedUntil: iso(alert.silencedUntil),
  };
}

/** Removes user names and quoted tool output. */
export function anonymousAlert<Fields extends Omit<AlertRecord, "id">>(alert: Fields): Fields {
  const { rule, server, daemon, feature, value, threshold } = alert;
  let { message } = alert;
  if (rule === "held_too_long") message = heldMessage(null, feature, value, threshold, heldUnit(message));
  if (rule === "daemon_down") message = daemonDownMessage(server, daemon);
  if (rule === "denials") message = deniedMessage(daemon, feature);
  return { ...alert, message, acknowledgedBy: null, comment: null };
}

const HELD = { seats: "A seat", tokens: "Tokens", credits: "Credits" } as const satisfies Record<
  Unit,
  string
>;

function heldUnit(message: string): Unit {
  return UNITS.find((unit) => message.startsWith(HELD[unit])) ?? "seats";
}

/** `hours` is how long the seats have been held, `limit` the allowed time. */
export function heldMessage(
  who: string | null,
  feature: string | null,
  hours: number | null,
  limit: number | null,
  unit: Unit = "seats",
): string {
  const by = who === null ? "" : ` by ${who}`;
  const have = unit === "seats" ? "has" : "have";
  return `${HELD[unit]} of ${feature ?? "a feature"} ${have} been held${by} for ${hours ?? "?"} h, longer than ${limit ?? "?"} h`;
}

export function daemonDownMessage(server: string | null, daemon: string | null): string {
  return `The daemon ${daemon ?? "?"} of ${server ?? "?"} is down`;
}

/** `feature` is null if the manager counts denials per daemon only. */
export function deniedMessage(daemon: string | null, feature: string | null): string {
  return `Requests for ${feature ?? daemon ?? "?"} are denied`;
}

export function isAtLeast(severity: Severity, least: Severity): boolean {
  return SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(least);
}

export type AlertCounts = Readonly<Record<Severity, number>>;
