import type { Shared, Step } from "../domain/history.ts";
import type { FeaturePicture, ServerPicture } from "../domain/picture.ts";
import { featureKey } from "../domain/polls/feature-picture.ts";
import type { Session } from "../domain/session.ts";
import type { Store } from "../store/open/open.ts";
import { hourStart, type OpenBuckets } from "./buckets.ts";
import { createStatusRecorder } from "./outages.ts";
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

/** A feature of a server: its small id, what it counts, and its counts as they are stored. */
interface Known extends Required<Shared> {
  readonly id: number;
  readonly daemon: string;
  readonly name: string;
  readonly counts: Step;
}

/** What this process stored of a server last. */
interface ServerState {
  /** Begin of the coverage that the next good reading goes on with; null = it begins another one. */
  readonly from: number | null;
  readonly features: ReadonlyMap<string, Known>;
}

type CoverageRow = Omit<Coverage, "running"> & { readonly running: number };

export type Recorder = ReturnType<typeof createRecorder>;

/** Writes what each poll adds to history: its status, counts that changed, and that the server was read. */
export function createRecorder({ sqlite }: Store, open: Pick<OpenBuckets, "touch">) {
  const states = new Map<string, ServerState>();
  const statuses = createStatusRecorder({ sqlite });
  /** Answers the row that is there, or the new one. */
  const putFeature = sqlite.query<{ id: number }, [string, string, string, string, string | null]>(
    `INSERT INTO history_features (server_id, daemon, name, unit, seat_group) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (server_id, daemon, name) DO UPDATE SET unit = excluded.unit, seat_group = excluded.seat_group
     RETURNING id`,
  );
  const coverage = (where: string) =>
    sqlite.query<CoverageRow, [string, number]>(
      `SELECT from_at AS "from", read_at AS readAt, until_at AS until, running FROM coverage WHERE server_id = ? AND ${where}`,
    );
  const backwards = coverage("from_at <= ? ORDER BY from_at DESC");
  const after = coverage("from_at > ? ORDER BY from_at LIMIT 1");
  const writeCoverage = sqlite.query<null, [string, number, number, number, boolean]>(
    `INSERT INTO coverage (server_id, from_at, read_at, until_at, running, looks) VALUES (?, ?, ?, ?, ?, 1)
     ON CONFLICT DO UPDATE SET read_at = excluded.read_at, until_at = excluded.until_at, running = excluded.running,
       looks = looks + (excluded.read_at > read_at)`,
  );
  const writeSample = sqlite.query<null, (number | boolean | null)[]>(
    "INSERT OR REPLACE INTO samples (feature_id, at, total, used, reserved, queued, unlimited) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );

  function idOf(serverId: string, { daemon, name, unit, seatGroup }: Omit<Known, "id">): number {
    const id = putFeature.get(serverId, daemon, name, unit, seatGroup)?.id;
    if (id === undefined) throw new Error("The store gave no id to a feature");
    return id;
  }

  function coverageAround(serverId: string, at: number): Around {
    const before = backwards.get(serverId, at);
    return {
      before: before && { ...before, running: before.running === 1 },
      nextFrom: after.get(serverId, at)?.from ?? Number.POSITIVE_INFINITY,
    };
  }

  /** Opens the hours that a row of coverage reaches now, or reached before. */
  function openCovered({ from, until }: Coverage, old: Coverage | null): void {
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
      const { id: serverId, intervalMs, timeoutMs } = server;
      const look = { at, good: collectedAt === at && error === null, intervalMs, timeoutMs };
      const state = states.get(serverId);
      let features = new Map<string, Known>();
      let from: number | null = null;
      return {
        write(opened = []) {
          statuses.write(picture);
          // A failure ends the coverage at hand also where the clock was set back to before its begin.
          const around = coverageAround(serverId, look.good ? at : Math.max(at, state?.from ?? at));
          const looked = takeLook(state?.from, look, around);
          for (const row of looked.rows) {
            writeCoverage.run(serverId, row.from, row.readAt, row.until, row.running);
            openCovered(row, row.from === around.before?.from ? around.before : null);
          }
          openBegins(serverId, opened, at);
          from = looked.from;
          const stored = state?.features ?? new Map<string, Known>();
          const known = from === at ? unread(stored) : stored;
          features = new Map(known);
          if (from === null) return;
          for (const change of changesOf(picture, at, known)) {
            const { daemon, name, counts } = change;
            const key = featureKey(daemon, name);
            const before = known.get(key);
            const id = before !== undefined && isShared(before, change) ? before.id : idOf(serverId, change);
            const { total, used, reserved, queued, unlimited } = counts;
            writeSample.run(id, at, total, used, reserved, queued, unlimited);
            features.set(key, { ...change, id });
          }
        },
        committed: () => void states.set(serverId, { from, features }),
      };
    },
    statusSince: statuses.since,
  };
}

/** Whether two features count the same, of the same set. */
function isShared(a: Shared, b: Shared): boolean {
  return a.unit === b.unit && a.seatGroup === b.seatGroup;
}

/**
 * Counts that differ from the stored ones, or count something else; a feature that the picture no longer has is a gap.
 */
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
    const before = known.get(key);
    const { unit = "seats", seatGroup = null } = counts.used === null && before ? before : feature;
    const isSame = before === undefined || isShared(before, { unit, seatGroup });
    if (!isSame || !sameCounts(before?.counts ?? gapAt(at), counts))
      changed.push({ daemon, name, unit, seatGroup, counts });
  }
  for (const { id: _, ...gone } of missing.values()) {
    if (gone.counts.used !== null) changed.push({ ...gone, counts: gapAt(at) });
  }
  return changed;
}

/** A coverage begins with nothing known. */
function unread(features: ReadonlyMap<string, Known>): ReadonlyMap<string, Known> {
  return new Map([...features].map(([key, known]) => [key, { ...known, counts: gapAt(0) }]));
}

/** The counts that this poll read; a feature that it did not read is a gap. */
function countsOf(feature: FeaturePicture, at: number): Step {
  if (feature.collectedAt !== at || feature.state === "failed" || feature.used === null) return gapAt(at);
  const { total, used, reserved, queued, unlimited } = feature;
  return { at, total, used, reserved, queued, unlimited };
}

/** A row of coverage: the server was read without a break in [from, until), last at `readAt`. Epoch ms. */
export interface Coverage {
  readonly from: number;
  readonly readAt: number;
  readonly until: number;
  /** A poll in time goes on with it: nothing ended it yet. */
  readonly running: boolean;
}

/** One poll: when it ended, and whether the server was read. */
export interface Look {
  readonly at: number;
  readonly good: boolean;
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

/** The stored rows around an instant: the last that begins at or before it, and where the first after it begins. */
interface Around {
  readonly before: Coverage | null;
  /** `Infinity` where there is none. */
  readonly nextFrom: number;
}

/**
 * What one poll proves of a server's coverage. The rule: a reading holds until the next poll ends, when that is within
 * 2 × interval + timeout; else for one interval, because no more is known. A poll that failed, or that comes later, ends
 * the coverage; the next good reading begins another one. Time that is covered stays as it is: while a clock that was set
 * back runs through it again, nothing is recorded.
 *
 * `own` is the begin of the coverage that this process goes on with; undefined at its first poll. Answers the rows to
 * write, and that begin for the next poll: equal to `at` where a coverage begins, null where nothing is to be recorded.
 */
export function takeLook(
  own: number | null | undefined,
  { at, good, intervalMs, timeoutMs }: Look,
  { before, nextFrom }: Around,
): { readonly from: number | null; readonly rows: readonly Coverage[] } {
  const next = { from: at, readAt: at, until: Math.min(at + intervalMs, nextFrom), running: true };
  if (before === null) return good ? { from: at, rows: [next] } : { from: null, rows: [] };
  const { readAt, running } = before;
  const isBack = at <= readAt;
  if (good && isBack) return { from: null, rows: [] };
  const inTime = running && !isBack && at - readAt <= 2 * intervalMs + timeoutMs;
  if (good && inTime && own === before.from) return { from: own, rows: [{ ...next, from: own }] };
  // What an earlier process left running is joined without a gap when this one looks in time.
  const holds = inTime && (!good || own === undefined);
  // Where the clock was set back, nothing is proven of what lies behind the last reading.
  const proven = isBack ? (running ? readAt : before.until) : holds ? at : Math.min(before.until, at);
  const isChanged = running || proven !== before.until;
  const ended = isChanged ? [{ ...before, until: proven, running: false }] : [];
  return good ? { from: at, rows: [...ended, next] } : { from: null, rows: ended };
}
