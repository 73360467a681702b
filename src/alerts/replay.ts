import { type Alert, type AlertSubject, isAtLeast } from "../domain/alerts.ts";
import type { ServerPicture } from "../domain/picture.ts";
import { type Conditions, createEvaluation, type Evaluation } from "./evaluator.ts";
import type { Denied, HostLook } from "./rules.ts";
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

const NO_HOST: HostLook = { disk: null, clockDoubtMs: null };

/**
 * The daemon's evaluator over the past of one server, or of a part of it: nothing is stored, no target gets a note.
 * `picture` is of the server; its expiry dates are those that `pass` looks at.
 */
export function createReplay(conditions: Conditions, { server, ...picture }: ServerPicture) {
  const state: MutableState = { firing: new Map(), watched: new Map(), baselines: new Map() };
  const idle: ServerPicture = { ...picture, server: { ...server, enabled: true } };
  const firings = new Map<number, Firing>();

  const evaluation = (at: number) => createEvaluation(state, conditions, at);

  /** Answers whether nothing changed. */
  function take({ at, changes, baselines }: Evaluation): boolean {
    let isStill = true;
    for (const [key, change] of changes) {
      if (change.watch !== (state.watched.get(key)?.watch ?? UNWATCHED)) isStill = false;
      const id = firings.size + 1;
      const alert = applyChange(state, key, change, at, () => ({ id, silencedUntil: null }));
      if (alert === null) continue;
      const { startedAt: from, resolvedAt: until } = alert;
      const worst = firings.get(alert.id)?.severity ?? alert.severity;
      const severity = isAtLeast(alert.severity, worst) ? alert.severity : worst;
      firings.set(alert.id, { subject: change.subject, severity, from, until });
    }
    for (const [id, baseline] of baselines) state.baselines.set(id, baseline);
    return isStill;
  }

  const look = (at: number) => take(evaluation(at).time([idle], NO_HOST, Number.POSITIVE_INFINITY));

  /** Something is bad, and has not lasted for long enough. */
  const isWaiting = () =>
    state.watched.values().some(({ watch }) => watch.runs.slice(watch.level).some(({ above }) => above > 0));

  /** Ends what counts as over by then, each at its own time. */
  function endUntil(until: number): void {
    const ends = [...state.watched.values()].flatMap(({ watch }) => watch.until ?? []);
    for (const at of ends.sort((a, b) => a - b)) if (at <= until) look(at);
  }

  return {
    /** Polls at the server's interval. Spans are ascending; polls between them failed. */
    polls(spans: readonly Span[]): void {
      let last: number | null = null;
      for (const { from, until, picture } of spans) {
        for (let at = from; at < until; at += server.intervalMs) {
          endUntil(at);
          const after = { ...picture, lastPollAt: at, collectedAt: at };
          const isStill = take(evaluation(at).poll(last, after));
          last = at;
          // The same numbers again change nothing more.
          if (isStill && !isWaiting() && !conditions.inMaintenance(server.id, at)) break;
        }
        last = from + Math.floor((until - 1 - from) / server.intervalMs) * server.intervalMs;
      }
    },
    denial(denied: Denied): void {
      // One that comes in the very moment in which the last was over goes on with it.
      endUntil(denied.at - 1);
      take(evaluation(denied.at).denial(denied, denied.at));
    },
    /** Time passes: dates come near, and what happened counts as over. */
    pass(until: number): void {
      endUntil(until);
      look(until);
    },
    firings: (): readonly Firing[] => [...firings.values()],
  };
}
