import { featureKey, type Shared, type Step } from "../domain/history.ts";
import type { FeaturePicture, ServerPicture } from "../domain/picture.ts";
import { longestSilence } from "../domain/server.ts";
import type { Session } from "../domain/session.ts";
import type { Store } from "../store/open/open.ts";
import { type Dirty, hourStart } from "./buckets.ts";
import { createStatusRecorder } from "./outages.ts";
import { gapAt, sameCounts } from "./sample-reader.ts";

interface Recording {
  /**
   * Stores the changes in the caller's transaction. Called again if the transaction failed. Hours in which
   * `opened` sessions began are rolled up again if they are over, as far as the server was read in these
   * hours.
   */
  write(opened?: readonly Pick<Session, "beganAt">[]): void;
  committed(): void;
}

interface Known extends Required<Shared> {
  readonly id: number;
  readonly daemon: string;
  readonly name: string;
  readonly counts: Step;
}

interface ServerState {
  /**
   * Start of the coverage that the next good reading continues; null if the next one begins a new coverage.
   */
  readonly from: number | null;
  readonly features: ReadonlyMap<string, Known>;
}

type CoverageRow = Omit<Coverage, "running"> & { readonly running: number };

export type Recorder = ReturnType<typeof createRecorder>;

export function createRecorder({ sqlite }: Store, dirty: Pick<Dirty, "touch">) {
  const states = new Map<string, ServerState>();
  const statuses = createStatusRecorder({ sqlite });
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

  function touchCovered({ from, until }: Coverage, old: Coverage | null): void {
    const first = old?.readAt ?? from;
    dirty.touch(first, Math.max(first, Math.max(until, old?.until ?? 0) - 1));
  }

  /**
   * Marks the covered time from the earliest start of the sessions up to `at`. Does nothing if all began in
   * the hour of `at`.
   */
  function touchBegins(serverId: string, opened: readonly Pick<Session, "beganAt">[], at: number): void {
    const began = opened.reduce((first, { beganAt }) => Math.min(first, beganAt), at);
    if (began >= hourStart(at)) return;
    for (const { from, until } of backwards.iterate(serverId, at)) {
      if (until <= began) break;
      dirty.touch(Math.max(from, began), Math.max(from, began, Math.min(until, at) - 1));
    }
  }

  return {
    /** Polls of one server must come one after the other. */
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
          // A failure ends the current coverage, even if the clock was set back to before the start of this
          // coverage.
          const around = coverageAround(serverId, look.good ? at : Math.max(at, state?.from ?? at));
          const looked = takeLook(state?.from, look, around);
          for (const row of looked.rows) {
            writeCoverage.run(serverId, row.from, row.readAt, row.until, row.running);
            touchCovered(row, row.from === around.before?.from ? around.before : null);
          }
          touchBegins(serverId, opened, at);
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

function isShared(a: Shared, b: Shared): boolean {
  return a.unit === b.unit && a.seatGroup === b.seatGroup;
}

/**
 * Returns the counts whose value or unit differs from the stored ones. A feature missing from the picture
 * becomes a gap.
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

function unread(features: ReadonlyMap<string, Known>): ReadonlyMap<string, Known> {
  return new Map([...features].map(([key, known]) => [key, { ...known, counts: gapAt(0) }]));
}

/** A feature that this poll did not read is a gap. */
function countsOf(feature: FeaturePicture, at: number): Step {
  if (feature.collectedAt !== at || feature.state === "failed" || feature.used === null) return gapAt(at);
  const { total, used, reserved, queued, unlimited } = feature;
  return { at, total, used, reserved, queued, unlimited };
}

export interface Coverage {
  readonly from: number;
  readonly readAt: number;
  readonly until: number;
  /** True while the next poll may continue this coverage. */
  readonly running: boolean;
}

export interface Look {
  readonly at: number;
  readonly good: boolean;
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

/** The last row that begins at or before an instant, and the start of the row after it. */
interface Around {
  readonly before: Coverage | null;
  readonly nextFrom: number;
}

/**
 * Derives a server's coverage from a poll. A reading holds until the next poll ends if the next poll comes
 * within 2 × interval + timeout, else for one interval. A failed or late poll ends the coverage; the next
 * good reading starts a new one. Covered time is never changed: if the clock was set back, nothing is
 * recorded until it passes the covered time again.
 *
 * `own` is the start of the coverage that this process is extending; null if there is none to extend,
 * undefined at the first poll. Returns the rows to write, and the next `own` as `from`: unchanged if this
 * poll extends the coverage, `at` if the poll starts one, null after a failed poll or a step back of the
 * clock.
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
  const inTime = running && !isBack && at - readAt <= longestSilence({ intervalMs, timeoutMs });
  if (good && inTime && own === before.from) return { from: own, rows: [{ ...next, from: own }] };
  // Coverage that an earlier process left running is continued without a gap if this poll is in time.
  const holds = inTime && (!good || own === undefined);
  // If the clock was set back, nothing is proven after the last reading.
  const proven = isBack ? (running ? readAt : before.until) : holds ? at : Math.min(before.until, at);
  const isChanged = running || proven !== before.until;
  const ended = isChanged ? [{ ...before, until: proven, running: false }] : [];
  return good ? { from: at, rows: [...ended, next] } : { from: null, rows: ended };
}
