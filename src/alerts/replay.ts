import type { AlertRule, AlertSubject, Severity } from "../domain/alerts.ts";
import { percent } from "../domain/feature-picture.ts";
import type { Series, Step } from "../domain/history.ts";
import { createLooks, type Firing } from "./replay-looks.ts";
import { TOTALS_LAST_MS } from "./rules/baseline.ts";
import { isExhausted, usageLevel } from "./rules/feature-rules.ts";
import type { SubjectSettings } from "./settings.ts";
import type { Needs } from "./watch.ts";

/** A thing looked at over time: 0 is well, null is not known. */
interface Replayed {
  readonly rule: AlertRule;
  readonly levelOf: (at: Step) => number | null;
}

export interface ReplayOptions {
  /** Of the server: looks come so often. */
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly settings: SubjectSettings;
  readonly inMaintenance: (at: number) => boolean;
}

/** What usage, exhausted seats and queues would have done over a feature's history, by the same rules and patience. */
export function replayFeature(series: Series, options: ReplayOptions): Firing[] {
  const { usageWarning, usageCritical, enabled } = options.settings;
  if (!enabled) return [];
  const known = (levelOf: (at: Step) => number): Replayed["levelOf"] => {
    return (at) => (at.used === null ? null : levelOf(at));
  };
  const rules: readonly Replayed[] = [
    {
      rule: "usage",
      levelOf: known(({ used, total }) =>
        usageLevel(percent(used ?? 0, total ?? 0), usageWarning, usageCritical),
      ),
    },
    { rule: "seats_exhausted", levelOf: known(({ used, total }) => (isExhausted(used, total) ? 1 : 0)) },
    {
      rule: "queue",
      levelOf: ({ used, queued }) => (used === null || queued === null ? null : queued > 0 ? 1 : 0),
    },
  ];
  return [...rules.flatMap((rule) => replay(series, rule, options)), ...totalChanges(series, options)];
}

function replay(
  { feature, steps, end }: Series,
  { rule, levelOf }: Replayed,
  options: ReplayOptions,
): Firing[] {
  const { settings, intervalMs, timeoutMs, inMaintenance } = options;
  const { featureFailures: failures, recoveries, forMs } = settings;
  const needs: Needs = { failures, recoveries, forMs };
  const subject: AlertSubject = { rule, ...feature, detail: null };
  const looks = createLooks({
    ...{ subject, needs, inMaintenance },
    severityOf: (level) => (rule === "usage" && level === 2 ? "critical" : "warning"),
  });
  let lastLook: number | null = null;

  steps.forEach((current, index) => {
    const level = levelOf(current);
    if (level === null) return;
    const until = steps[index + 1]?.at ?? end;
    for (let at = current.at; at < until; at += intervalMs) {
      const gap: boolean = lastLook !== null && at - lastLook > 2 * intervalMs + timeoutMs;
      lastLook = at;
      // The same numbers again change nothing more.
      if (looks.look(level, at, gap) && at - current.at >= forMs) break;
    }
    lastLook = current.at + Math.floor((until - 1 - current.at) / intervalMs) * intervalMs;
  });
  return looks.firings();
}

/** Totals that became others: each change is news for a day, until another one, or until it is taken back. */
function totalChanges({ feature, steps, end }: Series, { inMaintenance }: ReplayOptions): Firing[] {
  const changes: { readonly from: number; until: number; was: number | null }[] = [];
  let before: Step | null = null;
  for (const current of steps) {
    if (current.used === null) continue;
    const { at } = current;
    const [was, is] = [before === null ? undefined : seatsOf(before), seatsOf(current)];
    before = current;
    if (was === undefined || was === is || inMaintenance(at)) continue;
    const last = changes.at(-1);
    if (last === undefined || at >= last.until) changes.push({ from: at, until: at + TOTALS_LAST_MS, was });
    else if (last.was === is) last.until = at;
    else Object.assign(last, { until: at + TOTALS_LAST_MS, was });
  }
  const subject: AlertSubject = { rule: "totals_changed", ...feature, detail: null };
  return changes.map(({ from, until }) => ({
    ...{ subject, severity: "warning", from },
    until: until > end ? null : until,
  }));
}

/** Null = without limit. */
function seatsOf({ total, unlimited }: Step): number | null {
  return unlimited ? null : total;
}

/** Things that are bad from one moment to another, e.g. a server that is down: told when they lasted for enough polls. */
export function replaySpans(
  subject: AlertSubject,
  severity: Severity,
  spans: readonly { readonly from: number; readonly until: number | null }[],
  { intervalMs, settings, inMaintenance }: Omit<ReplayOptions, "timeoutMs">,
  end: number,
): Firing[] {
  if (!settings.enabled) return [];
  const patienceMs = (settings.failures - 1) * intervalMs;
  const recoveryMs = (settings.recoveries - 1) * intervalMs;
  const firings: Firing[] = [];
  for (const { from, until } of spans) {
    let at = from + patienceMs;
    while (at < (until ?? end) && inMaintenance(at)) at += intervalMs;
    if (at >= (until ?? end)) continue;
    const last = firings.at(-1);
    // It was not well for long enough to count as over.
    if (last?.until != null && from <= last.until) firings.pop();
    const start = last?.until != null && from <= last.until ? last.from : at;
    firings.push({ subject, severity, from: start, until: until === null ? null : until + recoveryMs });
  }
  return firings;
}
