import { type Alert, type AlertRule, type AlertSubject, subjectKey } from "../domain/alerts.ts";
import { featureKey } from "../domain/history.ts";
import type { ServerPicture } from "../domain/picture.ts";
import { longestSilence } from "../domain/server.ts";
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
 * Decides which alerts fire, change and resolve: derives changes from the current state and one observation.
 * Pure; `store.ts` applies the changes. One evaluation observes each subject once.
 */

/** State of all alerts. Subjects are keyed by {@link subjectKey}, baselines by server. */
export interface AlertState {
  readonly firing: ReadonlyMap<string, Alert>;
  readonly watched: ReadonlyMap<string, Watched>;
  readonly baselines: ReadonlyMap<string, Baseline>;
}

export interface Watched {
  readonly subject: AlertSubject;
  readonly watch: Watch;
  /** Time of the last observation, epoch ms; null if the observation was in an earlier process. */
  readonly seenAt: number | null;
}

export interface Conditions {
  readonly settingsOf: SettingsOf;
  readonly inMaintenance: InMaintenance;
  /**
   * Returns since when a server has had a status, according to its outages. This may be before the first
   * observation.
   */
  readonly statusSince?: (server: string, status: ServerStatus) => number | null;
}

const STATUS_OF: Readonly<Partial<Record<AlertRule, ServerStatus>>> = {
  server_down: "down",
  server_degraded: "degraded",
};

export interface SubjectChange {
  readonly subject: AlertSubject;
  /**
   * New watch of the subject. The same object as before if nothing changed; {@link UNWATCHED} to forget the
   * subject.
   */
  readonly watch: Watch;
  readonly alert: AlertMove | null;
}

/**
 * `amended`: values changed while the alert fires; this publishes no event. `since`: when the condition
 * began, epoch ms.
 */
export type AlertMove =
  | {
      readonly change: "fired" | "raised" | "lowered" | "amended";
      readonly finding: Finding;
      readonly since: number;
    }
  | { readonly change: "resolved"; readonly finding: Finding | null };

export type Evaluation = Pick<ReturnType<typeof createEvaluation>, "at" | "changes" | "baselines">;

/** Evaluates a poll, the passing of time, or a denial at `at`; the result is in `changes` and `baselines`. */
export function createEvaluation(
  state: AlertState,
  { settingsOf, inMaintenance, statusSince = () => null }: Conditions,
  at: number,
) {
  const changes = new Map<string, SubjectChange>();
  const baselines = new Map<string, Baseline>();
  /**
   * Rules with watched subjects. For other rules, no keys of subjects are built, because most subjects are
   * fine.
   */
  const watchedRules = new Set<AlertRule>();
  for (const { subject } of state.watched.values()) watchedRules.add(subject.rule);

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
    // When everything is fine, only the seats rule has a finding.
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

  /** Applies a rule to a server's picture. `isGap`: nothing is known since the last good reading. */
  function look(rule: PictureRule<unknown>, picture: ServerPicture, isGap: boolean, isNew = true): void {
    const { id } = picture.server;
    const longestMs = longestSilence(picture.server);
    const isUnseen = (seenAt: number) => isGap || at - seenAt > longestMs;
    for (const thing of rule.of(picture, (daemon, feature) => settingsOf(id, daemon, feature)))
      see(rule, thing, id, rule.about(thing), isUnseen, isNew);
  }

  /** Handles an event. `again` is the effect of the event on an alert that already fires. */
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
    const value =
      again === "amended" && known !== undefined ? (known.value ?? 0) + (finding.value ?? 0) : finding.value;
    const change = known === undefined ? "fired" : again;
    const alert: AlertMove = { change, finding: { ...finding, value }, since };
    changes.set(key, { subject, watch: { level: 1, runs: [], until: at + rule.lastsMs }, alert });
  }

  /**
   * Fires alerts for denials without free seats once a newer reading shows no shortage, or if no reading
   * follows in time.
   */
  function fireForDenials(picture: ServerPicture): void {
    for (const [key, { subject, watch }] of state.watched) {
      const { denied } = watch;
      if (denied === undefined || subject.server !== picture.server.id) continue;
      const isLooked =
        (picture.collectedAt ?? 0) > denied.lastAt ||
        Math.abs(at - denied.lastAt) > longestSilence(picture.server);
      const seen = changes.get(key)?.watch ?? watch;
      if (!isLooked || seen === UNWATCHED || isBad(seen)) continue;
      changes.set(key, { subject, watch: UNWATCHED, alert: null });
      const thing = { ...subject, count: denied.count };
      happen(DENIALS, thing, { ...subject, rule: DENIALS.rule }, "amended", denied.lastAt);
    }
  }

  function end(subject: AlertSubject): void {
    const key = subjectKey(subject);
    const alert: AlertMove | null = state.firing.has(key) ? { change: "resolved", finding: null } : null;
    changes.set(key, { subject, watch: UNWATCHED, alert });
  }

  function compareWithUsual(picture: ServerPicture): void {
    const server = picture.server.id;
    const baseline = state.baselines.get(server) ?? null;
    const { counted, isSame, changes } = compareTotals(baseline, picture);
    for (const change of changes) {
      const { daemon, feature } = change;
      const subject: AlertSubject = { rule: TOTALS_CHANGED.rule, server, daemon, feature, detail: null };
      const alert = state.firing.get(subjectKey(subject));
      // The number of seats is the same as before the alert.
      if (alert !== undefined && (change.to ?? null) === alert.threshold) end(subject);
      else happen(TOTALS_CHANGED, change, subject, "raised");
    }
    const lines = picture.unparsedLines;
    // If every line is recognized, the usual number becomes 0, so that any unrecognized line is unusual
    // from then on.
    const usual = lines === 0 ? 0 : (baseline?.unparsed ?? lines);
    see(UNPARSED, { server, lines, usual }, server, THE_SERVER);
    if (!isSame || usual !== baseline?.unparsed) baselines.set(server, { ...counted, unparsed: usual });
  }

  /**
   * Accepts the current number of unrecognized lines as usual after {@link USUAL_AFTER_MS} of the alert. A
   * failed poll changes nothing.
   */
  function acceptUnparsed({ server: { id: server }, unparsedLines, error }: ServerPicture): void {
    const alert = state.firing.get(subjectKey({ rule: UNPARSED.rule, server, ...THE_SERVER }));
    const baseline = state.baselines.get(server);
    if (error !== null || alert === undefined || baseline === undefined) return;
    if (at < alert.startedAt + USUAL_AFTER_MS) return;
    baselines.set(server, { ...baseline, unparsed: unparsedLines });
    end(alert);
  }

  /**
   * Ends subjects of daemons and features that the server no longer has, and holders that a good reading did
   * not show. Changed totals and denials end only by time.
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
    // Features disappear after two readings without them; daemons disappear only with a complete reading.
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

    /**
     * Evaluates a poll of one server. `readAt` is the time of the previous good reading, or null if none
     * preceded.
     */
    poll(readAt: number | null, picture: ServerPicture) {
      const isGap = readAt === null || at - readAt > longestSilence(picture.server);
      for (const rule of PICTURE_RULES) look(rule, picture, isGap);
      if (picture.error === null && picture.collectedAt === at) compareWithUsual(picture);
      fireForDenials(picture);
      endGone(picture);
      return this;
    },

    /**
     * Evaluates the passing of time: dates, missing polls, the host. `since`: start of the time in which polls are possible.
     */
    time(pictures: readonly ServerPicture[], host: HostLook, since: number) {
      const enabled = pictures.filter(({ server }) => server.enabled);
      const servers = new Set(enabled.map(({ server }) => server.id));
      const isConfigured = (server: string | null) => server === null || servers.has(server);
      for (const { subject, watch } of state.watched.values()) {
        const { server, daemon, feature } = subject;
        const isWanted = isConfigured(server) && settingsOf(server, daemon, feature).enabled;
        // An end that is too far away was computed while the clock was ahead.
        const isOver =
          watch.until !== null && (watch.until <= at || watch.until - at > TOTALS_CHANGED.lastsMs);
        if (!isWanted || isOver) end(subject);
      }
      for (const alert of state.firing.values()) if (!isConfigured(alert.server)) end(alert);
      for (const picture of enabled) {
        const { id, intervalMs } = picture.server;
        look(EXPIRY, picture, false);
        look(SEATS, picture, false, false);
        fireForDenials(picture);
        const due = Math.max(picture.nextPollAt ?? 0, since + intervalMs);
        if (at - due > longestSilence(picture.server)) see(UNPOLLED, { server: id, due }, id, THE_SERVER);
        acceptUnparsed(picture);
      }
      for (const rule of HOST_RULES) see(rule, host, null, THE_SERVER);
      return this;
    },

    /**
     * Evaluates a denial. Denials that ended before `now`, e.g. while the daemon was down, are ignored. A
     * denial without free seats waits for the next reading: if seats are short then, the alert about seats
     * covers the denial.
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
        // Cap the time of the denial, because the log's clock may be ahead.
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
