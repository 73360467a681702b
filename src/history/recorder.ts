import type { Step } from "../domain/history.ts";
import type { FeaturePicture, ServerPicture } from "../domain/picture.ts";
import { featureKey } from "../domain/polls/feature-picture.ts";
import type { Session } from "../domain/session.ts";
import type { Store } from "../store/open/open.ts";
import { type Coverage, type LookState, type Neighbours, takeLook } from "./look.ts";
import type { OpenBuckets } from "./open-buckets.ts";
import { gapAt, sameCounts } from "./sample-reader.ts";
import { hourStart } from "./spans.ts";

/** What one poll adds. */
export interface Recording {
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
