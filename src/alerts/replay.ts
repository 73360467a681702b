import { type Alert, type AlertSubject, isAtLeast } from "../domain/alerts.ts";
import type { ServerPicture } from "../domain/picture.ts";
import { type Conditions, type Evaluation, evaluateDenial, evaluatePoll, evaluateTime } from "./evaluator.ts";
import type { Denial, HostLook } from "./rules.ts";
import { applyChange, type MutableState } from "./store.ts";
import { UNWATCHED } from "./watch.ts";

/** A time for which an alert would have fired. */
export interface Firing {
  readonly subject: AlertSubject;
  /** The worst of it. */
  readonly severity: Alert["severity"];
  readonly from: number;
  /** Null when it would fire still. */
  readonly until: number | null;
}

/** What the polls in [from, until) saw. */
export interface Span {
  readonly from: number;
  readonly until: number;
  readonly picture: ServerPicture;
}

/** The daemon's evaluator over the past of one server, or of a part of it: nothing is stored, nobody is notified. */
export interface Replay {
  /** Polls at the server's interval. Spans are ascending; polls between them failed. */
  polls(spans: readonly Span[]): void;
  denial(denial: Denial): void;
  /** Time passes: dates come near, and what happened counts as over. */
  pass(until: number): void;
  firings(): readonly Firing[];
}

const NO_HOST: HostLook = { disk: null, clockDoubtMs: null };

/** `picture` is of the server; its expiry dates are those that `pass` looks at. */
export function createReplay(conditions: Conditions, { server, ...picture }: ServerPicture): Replay {
  const state: MutableState = { firing: new Map(), watched: new Map(), baselines: new Map() };
  const idle: ServerPicture = { ...picture, server: { ...server, enabled: true } };
  const firings = new Map<number, Firing>();

  /** Answers whether nothing changed. */
  function take({ at, changes, baselines }: Evaluation): boolean {
    let isStill = true;
    for (const [key, change] of changes) {
      if (change.watch !== (state.watched.get(key)?.watch ?? UNWATCHED)) isStill = false;
      const id = firings.size + 1;
      const alert = applyChange(state, key, change, at, () => ({ id, silencedUntil: null }));
      if (alert === null) continue;
      const worst = firings.get(alert.id)?.severity ?? alert.severity;
      firings.set(alert.id, {
        subject: change.subject,
        severity: isAtLeast(alert.severity, worst) ? alert.severity : worst,
        from: alert.startedAt,
        until: alert.resolvedAt,
      });
    }
    for (const [id, baseline] of baselines) state.baselines.set(id, baseline);
    return isStill;
  }

  const look = (at: number) =>
    take(evaluateTime(state, conditions, [idle], NO_HOST, Number.POSITIVE_INFINITY, at));

  /** Something is bad, and has not lasted for long enough. */
  const isWaiting = () =>
    state.watched.values().some(({ watch }) => watch.runs.slice(watch.level).some(({ above }) => above > 0));

  /** Ends what counts as over by then, each at its own time. */
  function endUntil(until: number): void {
    const ends = [...state.watched.values()].flatMap(({ watch }) => watch.until ?? []);
    for (const at of ends.sort((a, b) => a - b)) if (at <= until) look(at);
  }

  return {
    polls(spans) {
      let last: number | null = null;
      for (const { from, until, picture } of spans) {
        for (let at = from; at < until; at += server.intervalMs) {
          endUntil(at);
          const after = { ...picture, lastPollAt: at, collectedAt: at };
          const isStill = take(evaluatePoll(state, conditions, last, after, at));
          last = at;
          // The same numbers again change nothing more.
          if (isStill && !isWaiting() && !conditions.inMaintenance(server.id, at)) break;
        }
        last = from + Math.floor((until - 1 - from) / server.intervalMs) * server.intervalMs;
      }
    },
    denial(denial) {
      // One that comes in the very moment in which the last was over goes on with it.
      endUntil(denial.at - 1);
      take(evaluateDenial(state, conditions, denial, denial.at));
    },
    pass(until) {
      endUntil(until);
      look(until);
    },
    firings: () => [...firings.values()],
  };
}
