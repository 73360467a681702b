import { type AlertRule, type AlertSubject, subjectKey } from "../domain/alerts.ts";
import type { ServerPicture } from "../domain/picture.ts";
import type { Book } from "./book.ts";
import type { InMaintenance } from "./maintenance.ts";
import type { About, Finding, NamedRule, Patience, See } from "./rules/rule.ts";
import type { SettingsOf, SubjectSettings } from "./settings.ts";
import { type Needs, step, UNWATCHED, type Watch } from "./watch.ts";

/** Says a level in words, for the level that is told. */
type Tell = (level: number) => Finding;

/** Takes what was seen into account: alerts fire, move and end here and nowhere else. */
export interface Judge {
  /** The settings of a subject, as they are now. */
  of(subject: AlertSubject): SubjectSettings;
  /** Looks at one server with one rule. `gap`: nothing is known of the time since the last good reading. */
  look(rule: NamedRule, picture: ServerPicture, at: number, gap: boolean): void;
  /** One look of no picture rule; nothing when alerts of the subject are off. */
  see(subject: AlertSubject, level: number, at: number, patience: Patience, tell: Tell): void;
  /** Something that happens at a moment: it counts as over after a while without more of it. */
  happen(
    subject: AlertSubject,
    finding: Finding,
    at: number,
    lastsMs: number,
    more: "tell-again" | "amend",
  ): void;
  /** There is nothing left to look at. */
  forget(subject: AlertSubject, at: number): void;
}

export interface JudgeDeps {
  readonly book: Book;
  readonly settings: () => { readonly settingsOf: SettingsOf; readonly inMaintenance: InMaintenance };
  readonly now: () => number;
}

export function createJudge({ book, settings, now }: JudgeDeps): Judge {
  /** Looks at what must last for a time, by subject. */
  const lastLooks = new Map<string, number>();

  const of = (subject: AlertSubject): SubjectSettings =>
    settings().settingsOf(subject.server, subject.daemon, subject.feature);

  /** Takes a look into account: the alert fires, moves or ends when there was enough of it. */
  function take(
    subject: AlertSubject,
    level: number,
    at: number,
    needs: Needs,
    gap: boolean,
    tell: Tell | undefined,
  ): void {
    if (level > 0 && subject.server !== null && settings().inMaintenance(subject.server, at)) return;
    const before = book.watchOf(subject);
    if (level === 0 && before === UNWATCHED) return;
    const key = subjectKey(subject);
    const watch = step(before, level, at, gap, needs);
    const alert = book.firing.get(key);
    if (alert !== undefined && watch.level === 0) {
      book.resolve(alert, at);
      return;
    }
    book.setWatch(subject, watch);
    if (watch.level === 0 || tell === undefined) return;
    if (alert === undefined) book.fire(subject, tell(watch.level), at);
    else if (watch.level !== before.level)
      book.move(alert, watch.level > before.level ? "raised" : "lowered", tell(watch.level));
  }

  /** True when nobody knows how it was since the last look at it: what must last begins anew. */
  function isGap(subject: AlertSubject, isBad: boolean, at: number, longestMs: number): boolean {
    const key = subjectKey(subject);
    const last = lastLooks.get(key);
    if (isBad || book.watched.has(key)) lastLooks.set(key, at);
    else lastLooks.delete(key);
    return last !== undefined && at - last > longestMs;
  }

  /** Looks at one server with one rule. */
  function look({ rule, patience, look }: NamedRule, picture: ServerPicture, at: number, gap: boolean): void {
    const server = picture.server.id;
    const { settingsOf } = settings();
    const longestMs = longestSilence(picture);
    const see: See = (about, level, tell) => {
      const own = settingsOf(server, about.daemon, about.feature);
      if (!own.enabled) return;
      const subject = { rule, server, ...about };
      const needs = needsOf(own, patience);
      const unseen = needs.forMs > 0 && isGap(subject, level > 0, at, longestMs);
      take(subject, level, at, needs, gap || unseen, tell);
    };
    const context = {
      at,
      settingsOf: (daemon: string | null, feature: string | null) => settingsOf(server, daemon, feature),
      watched: () =>
        [...book.watched.values()]
          .map(({ subject }) => subject)
          .filter((subject) => subject.rule === rule && subject.server === server),
    };
    look(picture, context, see);
  }

  /** Something that happens at a moment: it counts as over after a while without more of it. */
  function happen(
    subject: AlertSubject,
    finding: Finding,
    at: number,
    lastsMs: number,
    more: "tell-again" | "amend",
  ): void {
    if (!of(subject).enabled || (subject.server !== null && settings().inMaintenance(subject.server, at)))
      return;
    // It is over before anybody heard of it, e.g. while the daemon was not there.
    if (at + lastsMs <= now()) return;
    const alert = book.firing.get(subjectKey(subject));
    const watch: Watch = { level: 1, runs: [], until: at + lastsMs };
    book.setWatch(subject, watch);
    if (alert === undefined) book.fire(subject, finding, at);
    else if (more === "tell-again") book.move(alert, "raised", finding);
    else book.amend(alert, { ...finding, value: (alert.value ?? 0) + (finding.value ?? 0) });
  }

  function forget(subject: AlertSubject, at: number): void {
    const alert = book.firing.get(subjectKey(subject));
    if (alert !== undefined) book.resolve(alert, at);
    else book.setWatch(subject, UNWATCHED);
  }

  return {
    ...{ of, look, happen, forget },
    see(subject, level, at, patience, tell) {
      const own = of(subject);
      if (own.enabled) take(subject, level, at, needsOf(own, patience), false, tell);
    },
  };
}

function needsOf(
  { failures, featureFailures, recoveries, forMs }: SubjectSettings,
  patience: Patience,
): Needs {
  switch (patience) {
    case "poll":
      return { failures, recoveries, forMs: 0 };
    case "feature":
      return { failures: featureFailures, recoveries, forMs };
    case "none":
      return { failures: 1, recoveries: 1, forMs: 0 };
  }
}

/** After so long without a good reading nothing is known of the time between. */
export function longestSilence({ server }: ServerPicture): number {
  return 2 * server.intervalMs + server.timeoutMs;
}

export function subjectOf(
  rule: AlertRule,
  server: string | null,
  { daemon, feature, detail }: About,
): AlertSubject {
  return { rule, server, daemon, feature, detail };
}
