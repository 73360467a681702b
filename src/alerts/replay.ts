import { type Alert, isAtLeast } from "../domain/alerts.ts";
import type { ServerPicture } from "../domain/picture.ts";
import { type Conditions, createEvaluation, type Evaluation, longestSilence } from "./evaluator.ts";
import type { Denied, HostLook } from "./rules.ts";
import { applyChange, type MutableState } from "./store.ts";
import { UNWATCHED } from "./watch.ts";

/** An alert that would have fired, with the worst of its severities. */
export type Firing = Pick<
  Alert,
  "rule" | "severity" | "server" | "daemon" | "feature" | "startedAt" | "firedAt" | "resolvedAt" | "peakValue"
>;

/** What the polls in [from, until) saw, one each `everyMs`. */
export interface Span {
  readonly from: number;
  readonly until: number;
  readonly everyMs: number;
  readonly picture: ServerPicture;
}

const NO_HOST: HostLook = { disk: null, clockDoubtMs: null, outbox: null };

/**
 * The daemon's evaluator over the past of one server, or of a part of it: nothing is stored, no target gets a note.
 * `picture` is of the server, which is enabled; `pass` looks at its expiry dates. Calls must come in the order of time.
 */
export function createReplay(conditions: Conditions, picture: ServerPicture) {
  const state: MutableState = { firing: new Map(), watched: new Map(), baselines: new Map() };
  const firings = new Map<number, Firing>();
  /** What is known now. */
  let current = picture;
  let passed = Number.NEGATIVE_INFINITY;

  const evaluation = (at: number) => createEvaluation(state, conditions, at);

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
        ...alert,
        severity: isAtLeast(alert.severity, worst) ? alert.severity : worst,
      });
    }
    for (const [id, baseline] of baselines) state.baselines.set(id, baseline);
    return isStill;
  }

  const look = (at: number) => take(evaluation(at).time([current], NO_HOST, Number.POSITIVE_INFINITY));

  /** When something has lasted for as long as it had to, counts as over, or is waited for no more. */
  const moments = () =>
    [...state.watched.values()].flatMap(({ subject, watch: { until, runs, denied } }) => {
      const { forMs } = conditions.settingsOf(subject.server, subject.daemon, subject.feature);
      if (until !== null) return [until];
      const settled = denied === undefined ? [] : [denied.lastAt + longestSilence(current) + 1];
      return [...settled, ...runs.flatMap(({ since }) => [since + forMs, since + 2 * forMs])];
    });

  /** Lets time pass up to an instant, that one included. */
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
    /** Polls that saw something. Spans are ascending; polls between them failed. */
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
          // The same numbers again change nothing more, until the look behind the next denial.
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
    /** Time passes: dates come near, and what happened counts as over. */
    pass(until: number): void {
      passTo(until);
      look(until);
    },
    firings: (): readonly Firing[] => [...firings.values()],
  };
}
