import { type Alert, type AlertRule, type AlertSubject, subjectKey } from "../domain/alerts.ts";
import type { ServerPicture } from "../domain/picture.ts";
import { featureKey } from "../domain/polls/feature-picture.ts";
import type { ServerStatus } from "../domain/words.ts";
import { type Baseline, compareTotals } from "./baseline.ts";
import {
  type About,
  DENIALS,
  type Denied,
  EXPIRY,
  type Finding,
  type HappeningRule,
  HOST_RULES,
  type HostLook,
  isForWantOfSeats,
  PICTURE_RULES,
  type PictureRule,
  type Rule,
  SEATS,
  THE_SERVER,
  TOTALS_CHANGED,
  UNPARSED,
  UNPOLLED,
  USUAL_AFTER_MS,
} from "./rules.ts";
import type { InMaintenance, SettingsOf } from "./settings.ts";
import { isBad, isIdle, needsOf, step, UNWATCHED, type Watch } from "./watch.ts";

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
  /** Since when a server has had a status, as its outages say it: that may be before the first look. */
  readonly statusSince?: (server: string, status: ServerStatus) => number | null;
}

const STATUS_OF: Readonly<Partial<Record<AlertRule, ServerStatus>>> = {
  server_down: "down",
  server_degraded: "degraded",
};

export interface SubjectChange {
  readonly subject: AlertSubject;
  /** The very object of before where it is the same; {@link UNWATCHED} = forget the subject. */
  readonly watch: Watch;
  /** What becomes of its alert; null = nothing. */
  readonly alert: AlertMove | null;
}

/** `amended`: what goes on changing while the alert fires, without an event. `since`: when it began, epoch ms. */
export type AlertMove =
  | {
      readonly change: "fired" | "raised" | "lowered" | "amended";
      readonly finding: Finding;
      readonly since: number;
    }
  | { readonly change: "resolved"; readonly finding: Finding | null };

/** What an evaluation answers. */
export type Evaluation = Pick<ReturnType<typeof createEvaluation>, "at" | "changes" | "baselines">;

/** One evaluation at `at`, of a poll, of the time, or of a denial; its changes and baselines are the answer. */
export function createEvaluation(
  state: AlertState,
  { settingsOf, inMaintenance, statusSince = () => null }: Conditions,
  at: number,
) {
  /** By subject key. */
  const changes = new Map<string, SubjectChange>();
  /** Baselines that changed, by server. */
  const baselines = new Map<string, Baseline>();
  /** Most things are well and not watched: for these no key is made. */
  const watchedRules = new Set<AlertRule>();
  for (const { subject } of state.watched.values()) watchedRules.add(subject.rule);

  /**
   * One look at one thing. `isGap`: whether nothing is known of the time since the last look at it. `isNew`: whether
   * the tool was asked for it now, or only time went on.
   */
  function see<Thing>(
    rule: Rule<Thing>,
    thing: Thing,
    server: string | null,
    { daemon, feature, detail }: About,
    isGap: (seenAt: number) => boolean = () => false,
    isNew = true,
  ): void {
    const own = settingsOf(server, daemon, feature);
    if (!own.enabled) return;
    const subject = { rule: rule.rule, server, daemon, feature, detail };
    const known = watchedRules.has(rule.rule) ? state.watched.get(subjectKey(subject)) : undefined;
    const before = known?.watch ?? UNWATCHED;
    const seen = rule.level(thing, own, at, before);
    if (seen === null || (seen === 0 && known === undefined)) return;
    const key = subjectKey(subject);
    if (seen > 0 && server !== null && inMaintenance(server, at)) {
      if (known !== undefined) changes.set(key, { subject, watch: before, alert: null });
      return;
    }
    const watch = step(before, seen, at, isGap(known?.seenAt ?? at), needsOf(own, rule.patience), isNew);
    const { level } = watch;
    const firing = state.firing.get(key);
    let alert: AlertMove | null = null;
    // Of other rules there is nothing to say when all is well.
    const last = () => (rule === SEATS ? rule.finding(thing, 1, own, at, watch) : null);
    if (level === 0) alert = firing === undefined ? null : { change: "resolved", finding: last() };
    else {
      const finding = rule.finding(thing, level, own, at, watch);
      const moved = level > before.level ? "raised" : level < before.level ? "lowered" : "amended";
      const change = firing === undefined ? "fired" : moved;
      const status = change === "fired" && server !== null ? STATUS_OF[rule.rule] : undefined;
      const first = watch.runs[0]?.since ?? at;
      const since = Math.min(first, (status && statusSince(server ?? "", status)) ?? first);
      if (change !== "amended" || !saysTheSame(finding, firing)) alert = { change, finding, since };
    }
    const isForgotten = alert?.change === "resolved" || isIdle(watch);
    changes.set(key, { subject, watch: isForgotten ? UNWATCHED : watch, alert });
  }

  /** Applies one rule to one server's picture. `isGap`: nothing is known of the time since the last good reading. */
  function look(rule: PictureRule<unknown>, picture: ServerPicture, isGap: boolean, isNew = true): void {
    const { id } = picture.server;
    const longestMs = longestSilence(picture);
    const isUnseen = (seenAt: number) => isGap || at - seenAt > longestMs;
    for (const thing of rule.of(picture, (daemon, feature) => settingsOf(id, daemon, feature)))
      see(rule, thing, id, rule.about(thing), isUnseen, isNew);
  }

  /** Something happened; `again` is what it does to an alert that fires already. */
  function happen<Thing>(
    rule: HappeningRule<Thing>,
    thing: Thing,
    subject: AlertSubject,
    again: "raised" | "amended",
    since = at,
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
    const change = known === undefined ? "fired" : again;
    const alert: AlertMove = { change, finding: { ...finding, value }, since };
    changes.set(key, { subject, watch: { level: 1, runs: [], until: at + rule.lastsMs }, alert });
  }

  /** Denials for want of seats fire by themselves unless the reading behind them shows a shortage, and where none comes. */
  function settleDenials(picture: ServerPicture): void {
    for (const [key, { subject, watch }] of state.watched) {
      const { denied } = watch;
      if (denied === undefined || subject.server !== picture.server.id) continue;
      const isLooked =
        (picture.collectedAt ?? 0) > denied.lastAt || Math.abs(at - denied.lastAt) > longestSilence(picture);
      const seen = changes.get(key)?.watch ?? watch;
      if (!isLooked || seen === UNWATCHED || isBad(seen)) continue;
      changes.set(key, { subject, watch: UNWATCHED, alert: null });
      const thing = { ...subject, count: denied.count };
      happen(DENIALS, thing, { ...subject, rule: DENIALS.rule }, "amended", denied.lastAt);
    }
  }

  /** There is nothing left to look at. */
  function end(subject: AlertSubject): void {
    const key = subjectKey(subject);
    const alert: AlertMove | null = state.firing.has(key) ? { change: "resolved", finding: null } : null;
    changes.set(key, { subject, watch: UNWATCHED, alert });
  }

  /** Compares a good reading with what was normal until now. */
  function compareWithUsual(picture: ServerPicture): void {
    const server = picture.server.id;
    const baseline = state.baselines.get(server) ?? null;
    const { counted, isSame, changes } = compareTotals(baseline, picture);
    for (const change of changes) {
      const { daemon, feature } = change;
      const subject: AlertSubject = { rule: TOTALS_CHANGED.rule, server, daemon, feature, detail: null };
      const alert = state.firing.get(subjectKey(subject));
      // Back to what it was before the alert: there is nothing to look at any more.
      if (alert !== undefined && (change.to ?? null) === alert.threshold) end(subject);
      else happen(TOTALS_CHANGED, change, subject, "raised");
    }
    const lines = picture.unparsedLines;
    // Once all lines were understood, none is usual.
    const usual = lines === 0 ? 0 : (baseline?.unparsed ?? lines);
    see(UNPARSED, { server, lines, usual }, server, THE_SERVER);
    if (!isSame || usual !== baseline?.unparsed) baselines.set(server, { ...counted, unparsed: usual });
  }

  /** Makes lines usual that were not understood for long. A poll that failed says nothing of what is usual. */
  function acceptUnparsed({ server: { id: server }, unparsedLines, error }: ServerPicture): void {
    const alert = state.firing.get(subjectKey({ rule: UNPARSED.rule, server, ...THE_SERVER }));
    const baseline = state.baselines.get(server);
    if (error !== null || alert === undefined || baseline === undefined) return;
    if (at < alert.startedAt + USUAL_AFTER_MS) return;
    baselines.set(server, { ...baseline, unparsed: unparsedLines });
    end(alert);
  }

  /**
   * Ends subjects of daemons and features that the server has no more, and details of a feature (who holds a seat) that
   * a good reading did not show. Changed totals and denials end by time alone.
   */
  function endGone({ server, daemons, features, state: outcome, cut }: ServerPicture): void {
    const own = [...state.watched.values()]
      .map(({ subject }) => subject)
      .filter(({ rule, server: id }) => id === server.id && !BY_TIME_ALONE.includes(rule));
    if (own.length === 0) return;
    const known = new Map(
      features.map((feature) => [featureKey(feature.daemon, feature.name), feature.state]),
    );
    const named = new Set(daemons.map(({ name }) => name));
    // Features vanish after two readings without them; daemons are believed gone only by a whole one.
    const isWhole = (outcome === "ok" || outcome === "partial") && !cut;
    for (const subject of own) {
      const { daemon, feature, detail } = subject;
      if (daemon === null) continue;
      const read = feature === null ? null : known.get(featureKey(daemon, feature));
      const isGone = feature === null ? isWhole && !named.has(daemon) : read === undefined;
      const isUnseen = detail !== null && read === "ok" && !changes.has(subjectKey(subject));
      if (isGone || isUnseen) end(subject);
    }
  }

  return {
    at,
    changes: changes as ReadonlyMap<string, SubjectChange>,
    baselines: baselines as ReadonlyMap<string, Baseline>,

    /** After a poll of one server. `readAt` is the time of the last good reading before it; null = never. */
    poll(readAt: number | null, picture: ServerPicture) {
      const isGap = readAt === null || at - readAt > longestSilence(picture);
      for (const rule of PICTURE_RULES) look(rule, picture, isGap);
      if (picture.error === null && picture.collectedAt === at) compareWithUsual(picture);
      settleDenials(picture);
      endGone(picture);
      return this;
    },

    /** As time passes: dates, polls that do not come, the host. `since` = from when on polls can come. */
    time(pictures: readonly ServerPicture[], host: HostLook, since: number) {
      const enabled = pictures.filter(({ server }) => server.enabled);
      const servers = new Set(enabled.map(({ server }) => server.id));
      const isConfigured = (server: string | null) => server === null || servers.has(server);
      for (const { subject, watch } of state.watched.values()) {
        const { server, daemon, feature } = subject;
        const isWanted = isConfigured(server) && settingsOf(server, daemon, feature).enabled;
        // An end further off than anything lasts was set by a clock that was ahead.
        const isOver =
          watch.until !== null && (watch.until <= at || watch.until - at > TOTALS_CHANGED.lastsMs);
        if (!isWanted || isOver) end(subject);
      }
      for (const alert of state.firing.values()) if (!isConfigured(alert.server)) end(alert);
      for (const picture of enabled) {
        const { id, intervalMs } = picture.server;
        look(EXPIRY, picture, false);
        look(SEATS, picture, false, false);
        settleDenials(picture);
        const due = Math.max(picture.nextPollAt ?? 0, since + intervalMs);
        if (at - due > longestSilence(picture)) see(UNPOLLED, { server: id, due }, id, THE_SERVER);
        acceptUnparsed(picture);
      }
      for (const rule of HOST_RULES) see(rule, host, null, THE_SERVER);
      return this;
    },

    /**
     * After a denial. One that was over before `now`, e.g. while the daemon was not running, is no news. What is denied
     * for want of seats waits for the next reading: where seats are short, it belongs to their alert.
     */
    denial(denied: Denied, now: number) {
      const { server, daemon, feature, count } = denied;
      const subject = { rule: SEATS.rule, server, daemon, feature, detail: null };
      if (at + DENIALS.lastsMs <= now || !settingsOf(server, daemon, feature).enabled) return this;
      const key = subjectKey(subject);
      const watch = state.watched.get(key)?.watch ?? UNWATCHED;
      const alone = { ...subject, rule: DENIALS.rule };
      if (isForWantOfSeats(denied) && (isBad(watch) || !state.firing.has(subjectKey(alone)))) {
        const before = watch.denied ?? { count: 0, lastAt: 0 };
        // The clock of the log may be ahead.
        const lastAt = Math.max(before.lastAt, Math.min(at, now));
        const all = { count: before.count + count, lastAt };
        changes.set(key, { subject, watch: { ...watch, denied: all }, alert: null });
      } else happen(DENIALS, denied, alone, "amended");
      return this;
    },
  };
}

const BY_TIME_ALONE: readonly AlertRule[] = [TOTALS_CHANGED.rule, DENIALS.rule];

function saysTheSame({ message, value, threshold }: Finding, firing: Alert | undefined): boolean {
  return message === firing?.message && value === firing.value && threshold === firing.threshold;
}

/** After so long without a good reading nothing is known of the time between. */
export function longestSilence({ server }: ServerPicture): number {
  return 2 * server.intervalMs + server.timeoutMs;
}
