import { type Alert, type AlertRule, type AlertSubject, subjectKey } from "../domain/alerts.ts";
import type { ServerPicture } from "../domain/picture.ts";
import { featureKey } from "../domain/polls/merge-blocks.ts";
import { type Baseline, compareTotals } from "./baseline.ts";
import type { InMaintenance } from "./maintenance.ts";
import {
  type About,
  DENIALS,
  type Denial,
  EXPIRY,
  type Finding,
  type HappeningRule,
  HOST_RULES,
  type HostLook,
  PICTURE_RULES,
  type PictureRule,
  type Rule,
  THE_SERVER,
  TOTALS_CHANGED,
  UNPARSED,
  UNPOLLED,
} from "./rules.ts";
import type { SettingsOf } from "./settings.ts";
import { isIdle, needsOf, step, UNWATCHED, type Watch } from "./watch.ts";

/**
 * Decides which alerts fire, move and end: the state so far and one look give the changes. Pure; `store.ts` applies them.
 * In one evaluation each subject is looked at once.
 */

/** What is known of alerts. Subjects are found by their {@link subjectKey}, baselines by server. */
export interface AlertState {
  readonly firing: ReadonlyMap<string, Alert>;
  readonly watched: ReadonlyMap<string, Watched>;
  readonly baselines: ReadonlyMap<string, Baseline>;
}

export interface Watched {
  readonly subject: AlertSubject;
  readonly watch: Watch;
  /** Last look, epoch ms; null = in an earlier process. */
  readonly seenAt: number | null;
}

/** What the config says, as it is now. */
export interface Conditions {
  readonly settingsOf: SettingsOf;
  readonly inMaintenance: InMaintenance;
}

export interface Evaluation {
  /** Epoch ms. */
  readonly at: number;
  /** By subject key. */
  readonly changes: ReadonlyMap<string, SubjectChange>;
  /** Baselines that changed, by server. */
  readonly baselines: ReadonlyMap<string, Baseline>;
}

export interface SubjectChange {
  readonly subject: AlertSubject;
  /** The very object of before where it is the same; {@link UNWATCHED} = forget the subject. */
  readonly watch: Watch;
  /** What becomes of its alert; null = nothing. */
  readonly alert: AlertMove | null;
}

/** `amended`: a figure that goes on changing while the alert fires, without an event. */
export type AlertMove =
  | { readonly change: "fired" | "raised" | "lowered" | "amended"; readonly finding: Finding }
  | { readonly change: "resolved" };

/** After a poll of one server at `at`. `readAt` is the time of the last good reading before it; null = never. */
export function evaluatePoll(
  state: AlertState,
  conditions: Conditions,
  readAt: number | null,
  picture: ServerPicture,
  at: number,
): Evaluation {
  const evaluation = createEvaluation(state, conditions, at);
  const isGap = readAt === null || at - readAt > longestSilence(picture);
  for (const rule of PICTURE_RULES) evaluation.look(rule, picture, isGap);
  if (picture.error === null && picture.collectedAt === at) compareWithUsual(evaluation, state, picture);
  for (const subject of goneFrom(picture, state.watched)) evaluation.end(subject);
  return evaluation;
}

/** As time passes: dates, polls that do not come, the host. `since` = begin of the process. */
export function evaluateTime(
  state: AlertState,
  conditions: Conditions,
  pictures: readonly ServerPicture[],
  host: HostLook,
  since: number,
  at: number,
): Evaluation {
  const evaluation = createEvaluation(state, conditions, at);
  const enabled = pictures.filter(({ server }) => server.enabled);
  const servers = new Set(enabled.map(({ server }) => server.id));
  for (const { subject, watch } of state.watched.values()) {
    const { server, daemon, feature } = subject;
    const isWanted =
      (server === null || servers.has(server)) && conditions.settingsOf(server, daemon, feature).enabled;
    // An end further off than anything lasts was set by a clock that was ahead.
    const isOver = watch.until !== null && (watch.until <= at || watch.until - at > TOTALS_CHANGED.lastsMs);
    if (!isWanted || isOver) evaluation.end(subject);
  }
  for (const alert of state.firing.values())
    if (alert.server !== null && !servers.has(alert.server)) evaluation.end(alert);
  for (const picture of enabled) {
    const { id, intervalMs } = picture.server;
    evaluation.look(EXPIRY, picture, false);
    const due = Math.max(picture.nextPollAt ?? 0, since + intervalMs);
    if (at - due > longestSilence(picture)) evaluation.see(UNPOLLED, { server: id, due }, id, THE_SERVER);
    acceptUnparsed(evaluation, state, picture, at);
  }
  for (const rule of HOST_RULES) evaluation.see(rule, host, null, THE_SERVER);
  return evaluation;
}

/** After a denial. One that was over before `now`, e.g. while the daemon was not running, is no news. */
export function evaluateDenial(
  state: AlertState,
  conditions: Conditions,
  denial: Denial,
  now: number,
): Evaluation {
  const { server, daemon, feature, at } = denial;
  const evaluation = createEvaluation(state, conditions, at);
  const subject = { rule: DENIALS.rule, server, daemon, feature, detail: null };
  if (at + DENIALS.lastsMs > now) evaluation.happen(DENIALS, denial, subject, "amended");
  return evaluation;
}

/** After so long without a good reading nothing is known of the time between. */
function longestSilence({ server }: ServerPicture): number {
  return 2 * server.intervalMs + server.timeoutMs;
}

/** Compares a good reading with what was normal until now. */
function compareWithUsual(evaluation: OpenEvaluation, state: AlertState, picture: ServerPicture): void {
  const server = picture.server.id;
  const baseline = state.baselines.get(server) ?? null;
  const { totals, isSame, changes } = compareTotals(baseline, picture);
  for (const change of changes) {
    const { daemon, feature } = change;
    const subject: AlertSubject = { rule: TOTALS_CHANGED.rule, server, daemon, feature, detail: null };
    const alert = state.firing.get(subjectKey(subject));
    // Back to what it was before the alert: there is nothing to look at any more.
    if (alert !== undefined && (change.to ?? null) === alert.threshold) evaluation.end(subject);
    else evaluation.happen(TOTALS_CHANGED, change, subject, "raised");
  }
  const lines = picture.unparsedLines;
  // Once all lines were understood, none is usual.
  const usual = lines === 0 ? 0 : (baseline?.unparsed ?? lines);
  evaluation.see(UNPARSED, { server, lines, usual }, server, THE_SERVER);
  if (!isSame || usual !== baseline?.unparsed) evaluation.baselines.set(server, { totals, unparsed: usual });
}

/** Makes lines usual that were not understood for long. A poll that failed says nothing of what is usual. */
function acceptUnparsed(
  { end, baselines }: OpenEvaluation,
  state: AlertState,
  { server: { id: server }, unparsedLines, error }: ServerPicture,
  at: number,
): void {
  const alert = state.firing.get(subjectKey({ rule: UNPARSED.rule, server, ...THE_SERVER }));
  const baseline = state.baselines.get(server);
  if (error !== null || alert === undefined || baseline === undefined) return;
  if (at < alert.startedAt + UNPARSED.usualAfterMs) return;
  baselines.set(server, { ...baseline, unparsed: unparsedLines });
  end(alert);
}

/** Subjects of daemons and features that the server has no more. Changed totals and denials end by time alone. */
function goneFrom(
  { server, daemons, features, state, cut }: ServerPicture,
  watched: AlertState["watched"],
): readonly AlertSubject[] {
  const own = [...watched.values()]
    .map(({ subject }) => subject)
    .filter(
      ({ rule, server: id }) => id === server.id && rule !== TOTALS_CHANGED.rule && rule !== DENIALS.rule,
    );
  if (own.length === 0) return own;
  const known = new Set(features.map(({ daemon, name }) => featureKey(daemon, name)));
  const named = new Set(daemons.map(({ name }) => name));
  // Features vanish after two readings without them; daemons are believed gone only by a whole one.
  const isWhole = (state === "ok" || state === "partial") && !cut;
  return own.filter(({ daemon, feature }) => {
    if (daemon === null) return false;
    return feature === null ? isWhole && !named.has(daemon) : !known.has(featureKey(daemon, feature));
  });
}

type OpenEvaluation = ReturnType<typeof createEvaluation>;

function createEvaluation(state: AlertState, { settingsOf, inMaintenance }: Conditions, at: number) {
  const changes = new Map<string, SubjectChange>();
  /** Most things are well and not watched: for these no key is made. */
  const watchedRules = new Set<AlertRule>();
  for (const { subject } of state.watched.values()) watchedRules.add(subject.rule);

  /** One look at one thing. `isGap`: nothing is known of the time since the last good reading. */
  function see<Thing>(
    rule: Rule<Thing>,
    thing: Thing,
    server: string | null,
    about: About,
    isGap = false,
    longestMs = Number.POSITIVE_INFINITY,
  ): void {
    const own = settingsOf(server, about.daemon, about.feature);
    if (!own.enabled) return;
    const seen = rule.level(thing, own, at);
    if (seen === null || (seen === 0 && !watchedRules.has(rule.rule))) return;
    const { daemon, feature, detail } = about;
    const subject = { rule: rule.rule, server, daemon, feature, detail };
    const key = subjectKey(subject);
    const known = state.watched.get(key);
    if (known === undefined && seen === 0) return;
    const before = known?.watch ?? UNWATCHED;
    if (seen > 0 && server !== null && inMaintenance(server, at)) {
      if (known !== undefined) changes.set(key, { subject, watch: before, alert: null });
      return;
    }
    const needs = needsOf(own, rule.patience);
    const isUnseen = needs.forMs > 0 && at - (known?.seenAt ?? at) > longestMs;
    const watch = step(before, seen, at, isGap || isUnseen, needs);
    const { level } = watch;
    const isFiring = state.firing.has(key);
    let alert: AlertMove | null = null;
    if (level === 0) alert = isFiring ? { change: "resolved" } : null;
    else if (!isFiring || level !== before.level) {
      const change = !isFiring ? "fired" : level > before.level ? "raised" : "lowered";
      alert = { change, finding: rule.finding(thing, level, own, at) };
    }
    const isForgotten = alert?.change === "resolved" || isIdle(watch);
    changes.set(key, { subject, watch: isForgotten ? UNWATCHED : watch, alert });
  }

  function subjectsOf(rule: AlertRule, server: string): readonly AlertSubject[] {
    const all = [...state.watched.values()].map(({ subject }) => subject);
    return all.filter((subject) => subject.rule === rule && subject.server === server);
  }

  /** Applies one rule to one server's picture. */
  function look(rule: PictureRule<unknown>, picture: ServerPicture, isGap: boolean): void {
    const { id: server } = picture.server;
    const context = {
      settingsOf: (daemon: string | null, feature: string | null) => settingsOf(server, daemon, feature),
      watched: () => (watchedRules.has(rule.rule) ? subjectsOf(rule.rule, server) : []),
    };
    const longestMs = longestSilence(picture);
    for (const thing of rule.of(picture, context))
      see(rule, thing, server, rule.about(thing), isGap, longestMs);
  }

  /** Something happened; `again` is what it does to an alert that fires already. */
  function happen<Thing>(
    rule: HappeningRule<Thing>,
    thing: Thing,
    subject: AlertSubject,
    again: "raised" | "amended",
  ): void {
    const { server, daemon, feature } = subject;
    if (!settingsOf(server, daemon, feature).enabled) return;
    if (server !== null && inMaintenance(server, at)) return;
    const key = subjectKey(subject);
    const known = state.firing.get(key);
    const finding = rule.finding(thing);
    // What is amended adds up.
    const value =
      again === "amended" && known !== undefined ? (known.value ?? 0) + (finding.value ?? 0) : finding.value;
    const alert: AlertMove = {
      change: known === undefined ? "fired" : again,
      finding: { ...finding, value },
    };
    changes.set(key, { subject, watch: { level: 1, runs: [], until: at + rule.lastsMs }, alert });
  }

  /** There is nothing left to look at. */
  function end(subject: AlertSubject): void {
    const key = subjectKey(subject);
    const alert: AlertMove | null = state.firing.has(key) ? { change: "resolved" } : null;
    changes.set(key, { subject, watch: UNWATCHED, alert });
  }

  return { at, changes, baselines: new Map<string, Baseline>(), look, see, happen, end };
}
