import type { Step } from "../domain/history.ts";
import type { FeaturePicture, ServerPicture } from "../domain/picture.ts";
import { featureKey } from "../domain/polls/feature-picture.ts";
import type { Session } from "../domain/session.ts";
import type { Store } from "../store/open/open.ts";
import { hourStart, type OpenBuckets } from "./buckets.ts";
import { gapAt, sameCounts } from "./sample-reader.ts";

/** What one poll adds. */
interface Recording {
  /**
   * Stores it; runs in the caller's transaction, once more when that failed. Hours that are over may turn out to be those
   * in which `opened` sessions began: they are rolled up again, as far as the server was read then.
   */
  write(opened?: readonly Pick<Session, "beganAt">[]): void;
  /** Takes it for stored: what comes next is compared with it. */
  committed(): void;
}

/** A feature of a server: its small id, and its counts as they are stored. */
interface Known {
  readonly id: number;
  readonly daemon: string;
  readonly name: string;
  readonly counts: Step;
}

interface ServerState {
  readonly look: LookState;
  readonly features: ReadonlyMap<string, Known>;
}

type CoverageRow = Omit<Coverage, "running"> & { readonly running: number };

export type Recorder = ReturnType<typeof createRecorder>;

/** Writes what each poll adds to history: counts that changed, and that the server was read. */
export function createRecorder({ sqlite, read }: Store, open: Pick<OpenBuckets, "touch">) {
  const states = new Map<string, ServerState>();
  /** Answers the row that is there, or the new one. */
  const putFeature = sqlite.query<{ id: number }, [string, string, string]>(
    `INSERT INTO history_features (server_id, daemon, name) VALUES (?, ?, ?)
     ON CONFLICT (server_id, daemon, name) DO UPDATE SET name = excluded.name RETURNING id`,
  );
  const coverage = (where: string) =>
    sqlite.query<CoverageRow, [string, number]>(
      `SELECT from_at AS "from", read_at AS readAt, until_at AS until, running FROM coverage WHERE server_id = ? AND ${where}`,
    );
  const backwards = coverage("from_at <= ? ORDER BY from_at DESC");
  const after = coverage("from_at > ? ORDER BY from_at LIMIT 1");
  const writeCoverage = sqlite.query<null, [string, number, number, number, boolean]>(
    `INSERT INTO coverage (server_id, from_at, read_at, until_at, running) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET read_at = excluded.read_at, until_at = excluded.until_at, running = excluded.running`,
  );
  const writeSample = sqlite.query<null, (number | boolean | null)[]>(
    "INSERT OR REPLACE INTO samples (feature_id, at, total, used, reserved, queued, unlimited) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );

  function idOf(serverId: string, daemon: string, name: string): number {
    const id = putFeature.get(serverId, daemon, name)?.id;
    if (id === undefined) throw new Error("The store gave no id to a feature");
    return id;
  }

  function neighbours(serverId: string, at: number): Neighbours {
    const before = backwards.get(serverId, at);
    return {
      before: before && { ...before, running: before.running === 1 },
      nextFrom: after.get(serverId, at)?.from ?? null,
    };
  }

  /** Opens the hours that a row of coverage reaches now, or reached before. */
  function openCovered({ from, until }: Coverage, old: Coverage | undefined): void {
    const first = old?.readAt ?? from;
    open.touch(first, Math.max(first, Math.max(until, old?.until ?? 0) - 1));
  }

  /** Opens the hours before that of `at` in which sessions began. */
  function openBegins(serverId: string, opened: readonly Pick<Session, "beganAt">[], at: number): void {
    const began = opened.reduce((first, { beganAt }) => Math.min(first, beganAt), at);
    if (began >= hourStart(at)) return;
    for (const { from, until } of backwards.iterate(serverId, at)) {
      if (until <= began) break;
      open.touch(Math.max(from, began), Math.max(from, began, Math.min(until, at) - 1));
    }
  }

  return {
    /** Compares a poll's picture with what is stored. Polls of one server come one after the other. */
    look(picture: ServerPicture): Recording {
      const { server, lastPollAt: at, collectedAt, error } = picture;
      if (at === null) return { write() {}, committed() {} };
      const state = states.get(server.id);
      const good = collectedAt === at && error === null;
      const { intervalMs, timeoutMs } = server;
      const stored = [state?.look.current];
      const looked = takeLook(state?.look ?? null, { at, good, intervalMs, timeoutMs }, () => {
        const around = read(() => neighbours(server.id, at));
        stored.push(around.before);
        return around;
      });
      // A coverage begins with nothing known.
      const known = looked.record === "all" ? unread(state?.features) : (state?.features ?? new Map());
      const changed = looked.record === "nothing" ? [] : changesOf(picture, at, known);
      const features = new Map(known);
      return {
        write(opened = []) {
          for (const row of looked.rows) {
            writeCoverage.run(server.id, row.from, row.readAt, row.until, row.running);
            openCovered(row, stored.find((one) => one?.from === row.from) ?? undefined);
          }
          openBegins(server.id, opened, at);
          for (const { daemon, name, counts } of changed) {
            const key = featureKey(daemon, name);
            const id = known.get(key)?.id ?? idOf(server.id, daemon, name);
            const { total, used, reserved, queued, unlimited } = counts;
            writeSample.run(id, at, total, used, reserved, queued, unlimited);
            features.set(key, { id, daemon, name, counts });
          }
        },
        committed: () => void states.set(server.id, { look: looked.state, features }),
      };
    },
  };
}

/** Counts that differ from the stored ones; a feature that the picture no longer has is a gap. */
function changesOf(
  picture: ServerPicture,
  at: number,
  known: ReadonlyMap<string, Known>,
): Omit<Known, "id">[] {
  const changed: Omit<Known, "id">[] = [];
  const missing = new Map(known);
  for (const feature of picture.features) {
    const { daemon, name } = feature;
    const key = featureKey(daemon, name);
    missing.delete(key);
    const counts = countsOf(feature, at);
    if (!sameCounts(known.get(key)?.counts ?? gapAt(at), counts)) changed.push({ daemon, name, counts });
  }
  for (const { daemon, name, counts } of missing.values()) {
    if (counts.used !== null) changed.push({ daemon, name, counts: gapAt(at) });
  }
  return changed;
}

function unread(features: ReadonlyMap<string, Known> = new Map()): ReadonlyMap<string, Known> {
  return new Map([...features].map(([key, known]) => [key, { ...known, counts: gapAt(0) }]));
}

/** The counts that this poll read; a feature that it did not read is a gap. */
function countsOf(feature: FeaturePicture, at: number): Step {
  if (feature.collectedAt !== at || feature.state === "failed" || feature.used === null) return gapAt(at);
  const { total, used, reserved, queued, unlimited } = feature;
  return { at, total, used, reserved, queued, unlimited };
}

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
interface Neighbours {
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
