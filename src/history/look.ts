/**
 * What one poll proves of a server's coverage. The rule: a reading holds until the next poll ends, when that is within
 * 2 × interval + timeout; else for one interval, because nobody knows more. A poll that
 * failed, or that comes later, ends the coverage; the next good reading begins another one. Time that is covered
 * stays as it is: while a clock that was set back runs through it again, nothing is recorded.
 */

/** A row of coverage: the server was read without a break in [from, until), last at `readAt`. Epoch ms. */
export interface Coverage {
  readonly from: number;
  readonly readAt: number;
  readonly until: number;
  /** A poll in time goes on with it: nothing ended it yet. */
  readonly running: boolean;
}

export interface Look {
  /** When the poll ended. */
  readonly at: number;
  /** The server was read. */
  readonly good: boolean;
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

/** What this process knows of a server between polls. */
export interface LookState {
  /** The coverage that the next good reading goes on with. */
  readonly current: Coverage | null;
  /** Where the next stored coverage begins: history goes only so far. `Infinity` where there is none. */
  readonly nextFrom: number;
}

/** The stored rows around an instant: the last that begins at or before it, and where the first after it begins. */
export interface Neighbours {
  readonly before: Coverage | null;
  readonly nextFrom: number | null;
}

interface Looked {
  readonly state: LookState;
  /** Rows to write, by `from`. */
  readonly rows: readonly Coverage[];
  /** `all`: a coverage begins, every feature's counts are to be written · `changes` · `nothing`. */
  readonly record: "all" | "changes" | "nothing";
}

const NOTHING: LookState = { current: null, nextFrom: Number.POSITIVE_INFINITY };

/** `state` is null for the first poll in this process. `neighbours` is called only where the usual way does not go. */
export function takeLook(state: LookState | null, look: Look, neighbours: () => Neighbours): Looked {
  const current = state?.current ?? null;
  if (state !== null && current !== null && look.good && isInTime(current, look))
    return goOn(current, state.nextFrom, look);
  const isKnown = state !== null && !look.good;
  const { before, nextFrom } = isKnown ? { before: current, nextFrom: state.nextFrom } : neighbours();
  const limit = nextFrom ?? Number.POSITIVE_INFINITY;
  if (look.good) return begin(look, before, limit, state === null);
  const rows = before?.running === true ? [ended(before, look, limit)] : trimmed(before, look.at);
  return { state: NOTHING, rows, record: "nothing" };
}

function isInTime({ readAt }: Coverage, { at, intervalMs, timeoutMs }: Look): boolean {
  return at > readAt && at - readAt <= 2 * intervalMs + timeoutMs;
}

function goOn(current: Coverage, nextFrom: number, { at, intervalMs }: Look): Looked {
  if (at >= nextFrom) {
    return { state: NOTHING, rows: [{ ...current, until: nextFrom, running: false }], record: "nothing" };
  }
  const extended = { ...current, readAt: at, until: Math.min(at + intervalMs, nextFrom) };
  return { state: { current: extended, nextFrom }, rows: [extended], record: "changes" };
}

function begin(look: Look, before: Coverage | null, nextFrom: number, isFirst: boolean): Looked {
  const { at, intervalMs } = look;
  // The clock was set back.
  if (before !== null && at <= before.readAt) return { state: NOTHING, rows: [], record: "nothing" };
  const current = { from: at, readAt: at, until: Math.min(at + intervalMs, nextFrom), running: true };
  // What an earlier process left running is joined without a gap when this one looks in time.
  const joined = isFirst && before?.running === true && isInTime(before, look);
  const rows =
    before === null
      ? []
      : joined
        ? [{ ...before, until: at, running: false }]
        : before.running
          ? [{ ...before, until: Math.min(before.until, at), running: false }]
          : trimmed(before, at);
  return { state: { current, nextFrom }, rows: [...rows, current], record: "all" };
}

/** A poll that failed ends the coverage: when it ended if that is in time, else where the last reading ends. */
function ended(current: Coverage, look: Look, nextFrom: number): Coverage {
  const { at } = look;
  if (isInTime(current, look)) return { ...current, until: Math.min(at, nextFrom), running: false };
  // Where the clock was set back, nothing is proven of what lies behind the last reading.
  return { ...current, until: at <= current.readAt ? current.readAt : current.until, running: false };
}

/** Takes back what a coverage claims beyond a poll that says otherwise. */
function trimmed(before: Coverage | null, at: number): Coverage[] {
  return before !== null && at > before.readAt && at < before.until ? [{ ...before, until: at }] : [];
}
