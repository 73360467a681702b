import { type Alert, isAtLeast } from "../domain/alerts.ts";
import type { ServerPicture } from "../domain/picture.ts";
import { longestSilence } from "../domain/server.ts";
import { type Conditions, createEvaluation, type Evaluation } from "./evaluator.ts";
import type { Denied, HostLook } from "./rules.ts";
import { applyChange, type MutableState } from "./store.ts";
import { UNWATCHED } from "./watch.ts";

/** An alert that would have fired, with its worst severity. */
export type Firing = Pick<
  Alert,
  "rule" | "severity" | "server" | "daemon" | "feature" | "startedAt" | "firedAt" | "resolvedAt" | "peakValue"
>;

/** Polls in [from, until) with the same result, one every `everyMs`. */
export interface Span {
  readonly from: number;
  readonly until: number;
  readonly everyMs: number;
  readonly picture: ServerPicture;
}

const NO_HOST: HostLook = { disk: null, clockDoubtMs: null, outbox: null };

/**
 * Runs the daemon's evaluator over the past of one server, or of a part of the server, without storing or
 * notifying. `picture` must be one of the enabled server; `pass` checks its expiry dates. Calls must come
 * in time order.
 */
export function createReplay(conditions: Conditions, picture: ServerPicture) {
  const state: MutableState = { firing: new Map(), watched: new Map(), baselines: new Map() };
  const firings = new Map<number, Firing>();
  let current = picture;
  let passed = Number.NEGATIVE_INFINITY;

  const evaluation = (at: number) => createEvaluation(state, conditions, at);

  function take({ at, changes, baselines }: Evaluation): boolean {
    let isStill = true;
    for (const [key, change] of changes) {
      if (change.watch !== (state.watched.get(key)?.watch ?? UNWATCHED)) isStill = false;
      const id = firings.size + 1;
      const alert = applyChange(state, key, change, at, () => ({ id, silencedUntil: null }));
      if (alert === null) continue;
      const worst = firings.get(alert.id)?.severity ?? alert.severity;
      firings.set(alert.id, {
        ...alert,
        severity: isAtLeast(alert.severity, worst) ? alert.severity : worst,
      });
    }
    for (const [id, baseline] of baselines) state.baselines.set(id, baseline);
    return isStill;
  }

  const look = (at: number) => take(evaluation(at).time([current], NO_HOST, Number.POSITIVE_INFINITY));

  /** Returns the next times at which the passing of time alone may change something. */
  const moments = () =>
    [...state.watched.values()].flatMap(({ subject, watch: { until, runs, denied } }) => {
      const { forMs } = conditions.settingsOf(subject.server, subject.daemon, subject.feature);
      if (until !== null) return [until];
      const silences = denied === undefined ? [] : [denied.lastAt + longestSilence(current.server) + 1];
      return [...silences, ...runs.flatMap(({ since }) => [since + forMs, since + 2 * forMs])];
    });

  /** Advances time up to and including an instant. */
  function passTo(until: number): void {
    for (;;) {
      const next = moments().filter((at) => at > passed && at <= until);
      if (next.length === 0) break;
      passed = Math.min(...next);
      look(passed);
    }
    passed = Math.max(passed, until);
  }

  return {
    /** Replays good polls. Spans are ascending; polls between them failed. */
    polls(spans: readonly Span[], denials: readonly Denied[] = []): void {
      let last: number | null = null;
      const left = denials.values();
      let denied = left.next();
      const denyUntil = (until: number) => {
        for (; denied.value !== undefined && denied.value.at <= until; denied = left.next()) {
          passTo(denied.value.at - 1);
          take(evaluation(denied.value.at).denial(denied.value, denied.value.at));
        }
      };
      for (const { from, until, everyMs, picture: seen } of spans) {
        const server = { ...seen.server, intervalMs: everyMs };
        for (let at = from; at < until; at += everyMs) {
          denyUntil(at);
          passTo(at);
          current = { ...seen, server, lastPollAt: at, collectedAt: at };
          const isStill = take(evaluation(at).poll(last, current));
          last = at;
          // If this poll changed nothing and nothing is due by time, equal polls change nothing either:
          // skip to the next denial.
          const isWaiting = moments().some((moment) => moment > at);
          if (!isStill || isWaiting || conditions.inMaintenance(seen.server.id, at)) continue;
          if (denied.value === undefined) break;
          at = Math.max(at, from + Math.floor((denied.value.at - from) / everyMs) * everyMs);
        }
        last = from + Math.floor((until - 1 - from) / everyMs) * everyMs;
        denyUntil(until - 1);
        passTo(until - 1);
        current = picture;
      }
      denyUntil(Number.POSITIVE_INFINITY);
    },
    pass(until: number): void {
      passTo(until);
      look(until);
    },
    firings: (): readonly Firing[] => [...firings.values()],
  };
}
