import type { AlertSubject, Severity } from "../domain/alerts.ts";
import { isSame, type Needs, step, UNWATCHED, type Watch } from "./watch.ts";

/** A time for which an alert would have fired. */
export interface Firing {
  readonly subject: AlertSubject;
  /** The worst of it. */
  readonly severity: Severity;
  readonly from: number;
  /** Null when it would fire still. */
  readonly until: number | null;
}

/** Looks at one subject, one after the other, with the patience of the daemon's: what would have fired. */
export interface Looks {
  /**
   * One look at `at` that saw `level`; `gap`: nobody looked for so long before it. Answers whether it changed nothing:
   * the same look again then changes nothing more, but by time.
   */
  look(level: number, at: number, gap: boolean): boolean;
  /** When that which fires began; null = nothing does. */
  firingSince(): number | null;
  /** It counts as over, whatever was seen; looks begin anew. */
  end(at: number): void;
  /** Ascending; the last may fire still. */
  firings(): Firing[];
}

export interface LooksOptions {
  readonly subject: AlertSubject;
  readonly needs: Needs;
  readonly severityOf: (level: number) => Severity;
  readonly inMaintenance: (at: number) => boolean;
}

export function createLooks({ subject, needs, severityOf, inMaintenance }: LooksOptions): Looks {
  const over: Firing[] = [];
  let watch: Watch = UNWATCHED;
  let begun: { readonly from: number; readonly worst: number } | null = null;

  function end(at: number): void {
    if (begun !== null)
      over.push({ subject, severity: severityOf(begun.worst), from: begun.from, until: at });
    begun = null;
    watch = UNWATCHED;
  }

  return {
    look(level, at, gap) {
      if (level > 0 && inMaintenance(at)) return false;
      const next = step(watch, level, at, gap, needs);
      const isSettled = isSame(next, watch);
      if (begun !== null && next.level === 0) end(at);
      else watch = next;
      if (watch.level > 0)
        begun = { from: begun?.from ?? at, worst: Math.max(begun?.worst ?? 0, watch.level) };
      return isSettled;
    },
    firingSince: () => begun?.from ?? null,
    end,
    firings: () =>
      begun === null
        ? [...over]
        : [...over, { subject, severity: severityOf(begun.worst), from: begun.from, until: null }],
  };
}
