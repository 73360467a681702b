import { type Static, Type } from "@sinclair/typebox";
import type { FeaturePicture, ServerPicture } from "./picture.ts";
import { count, nullable, OfSite, record, Timestamp, words } from "./records.ts";
import { DAY_MS, iso } from "./time/clock.ts";
import { DENIAL_STATES } from "./words.ts";

export const DENIAL_OUTCOMES = ["denied", "granted_later", "queued"] as const;
/** What came of a denied request: nothing · seats within seconds, from whatever pool or server · a place in the queue. */
export type DenialOutcome = (typeof DENIAL_OUTCOMES)[number];

/** Requests that were denied: one row for a user who tries again and again. */
export const DenialFields = {
  ...OfSite,
  server: Type.String(),
  daemon: Type.String(),
  feature: nullable(Type.String({ description: "Null where the manager counts denials of a daemon alone" })),
  user: nullable(Type.String()),
  host: nullable(Type.String({ description: "Of the first attempt" })),
  count: count("Seats asked for; where the manager only counts denials, how many", 1),
  reason: nullable(Type.String({ description: "The manager's own words" })),
  code: nullable(Type.Integer({ description: "The manager's error number, e.g. -4" })),
  attempts: count("Requests of one user that were denied one after the other, for the same reason", 1),
  until: { ...Timestamp, description: "The last attempt" },
  outcome: words(
    DENIAL_OUTCOMES,
    "granted_later: the seats came within seconds, from whatever pool or server. What statistics and alerts count as " +
      "denials is `denied` alone",
  ),
};

export const DenialRecord = record("Denial", { timestamp: Timestamp, ...DenialFields });
export type DenialRecord = Static<typeof DenialRecord>;

/** Whether denials of a server can be seen. */
export const LoggingRecord = record("DenialLogging", {
  ...OfSite,
  server: Type.String(),
  state: words(DENIAL_STATES),
  source: nullable(words(["debug_log", "counters"])),
  since: nullable({ ...Timestamp, description: "Since when without a break" } as typeof Timestamp),
  message: nullable(Type.String({ description: "Why not, and what would help" })),
});
export type LoggingRecord = Static<typeof LoggingRecord>;

/** A denial as it is stored, its times as epoch ms. */
export interface Denial extends Omit<DenialRecord, "timestamp" | "until"> {
  /** First attempt; of counted denials the time of the poll that saw the counter grow. */
  readonly at: number;
  /** Last attempt. */
  readonly until: number;
}

/** Field by field: copying the rest took a third of the time of a long list. */
export function denialRecord(denial: Denial): DenialRecord {
  const { server, daemon, feature, user, host, count, reason, code, attempts, outcome } = denial;
  const [timestamp, until] = [iso(denial.at), iso(denial.until)];
  return { timestamp, server, daemon, feature, user, host, count, reason, code, attempts, outcome, until };
}

/** Denials that a manager counted between two polls. */
interface Counted {
  readonly daemon: string;
  /** Null where it counts those of the daemon alone. */
  readonly feature: string | null;
  readonly count: number;
}

/** Denials by a counter of the manager, in one poll: no users, just how many. */
export function countedDenials(server: string, { daemon, feature, count }: Counted, at: number): Denial {
  const unknown = { user: null, host: null, reason: null, code: null };
  return { at, server, daemon, feature, count, attempts: count, until: at, ...unknown, outcome: "denied" };
}

/** What each counter had when it was last read, by the daemon's name or by the feature's key. */
export type DenialCounters = Readonly<Record<string, number>>;

type Counting = Pick<ServerPicture, "daemons"> & {
  readonly features: readonly Pick<FeaturePicture, "daemon" | "name" | "totals">[];
};

/** A manager that counts by feature, of some of them at least. */
export function countsByFeature({ features }: Counting): boolean {
  return features.some(({ totals }) => totals !== undefined && totals.denials !== null);
}

/**
 * Differences of the manager's counters: the features' where it has them, else the daemons'. The first reading of a counter
 * is where counting begins. A daemon's that fell began again at 0 when its daemon was restarted, so that all it shows has
 * happened since; a feature's may be of a time that moves on (LM-X: the last 24 hours), so that one which fell says nothing.
 */
export function countDenials(before: DenialCounters, picture: Counting) {
  const ofDaemons = () =>
    picture.daemons.map(({ name, totals }) => ({ key: name, daemon: name, feature: null, totals }));
  const ofFeatures = () =>
    picture.features.map(({ daemon, name, totals }) => {
      return { key: `${daemon}\0${name}`, daemon, feature: name, totals };
    });
  const counters: Record<string, number> = { ...before };
  const denied: Counted[] = [];
  for (const { key, daemon, feature, totals } of countsByFeature(picture) ? ofFeatures() : ofDaemons()) {
    const now = totals?.denials ?? null;
    if (now === null) continue;
    const was = before[key] ?? now;
    counters[key] = now;
    const count = now >= was ? now - was : feature === null ? now : 0;
    if (count > 0) denied.push({ daemon, feature, count });
  }
  /** False when nothing has to be stored again. */
  const changed = Object.keys(counters).some((key) => counters[key] !== before[key]);
  return { counters: counters as DenialCounters, denied, changed };
}

/** Retries within this time, denied for the same reason, share a row. Clients retry every 30 to 60 seconds. */
export const RETRY_WINDOW_MS = 300_000;
/** Seats that come this soon after a denial, or came this shortly before it, make it none: another pool or server had them. */
const GRANT_AHEAD_MS = 10_000;
const GRANT_BACK_MS = 2_000;
/** How much later than its neighbours' a log may be read. */
const LATE_MS = 60_000;
const KEEP_MS = RETRY_WINDOW_MS + LATE_MS;
/** A place in the queue of which no end was read is taken for given up. */
const LONGEST_WAIT_MS = DAY_MS;

/** What a log says of one request. */
export interface Attempt
  extends Pick<Denial, "at" | "server" | "daemon" | "user" | "host" | "count" | "reason" | "code"> {
  readonly kind: "denied" | "granted" | "queued" | "dequeued";
  readonly feature: string;
}

/** An episode as it stands. The same object from its first attempt to its end; a copy goes to the store. */
export interface Episode {
  readonly denial: Denial;
  /** Whether its event went out: once, when its outcome can be known. */
  readonly told: boolean;
  /** Every attempt in it, epoch ms. */
  readonly times: readonly number[];
}

interface OpenEpisode extends Episode {
  denial: Denial;
  told: boolean;
  readonly times: number[];
  /** The request has a place in the queue: whatever else its user asks for meanwhile is the same wait. */
  waits: boolean;
}

/**
 * Makes episodes of attempts: one for all servers, because what one denies another may grant. Attempts come in about
 * the order of time; servers' logs may be a few seconds apart.
 */
export function createEpisodes() {
  /** By user and feature, over all servers: the episodes that may still go on. */
  const open = new Map<string, OpenEpisode[]>();
  /** Seats that were taken lately, by user and feature. Two generations: the older one is dropped as a whole. */
  let grants = new Map<string, number[]>();
  let olderGrants = new Map<string, number[]>();
  let generationAt = Number.NEGATIVE_INFINITY;
  let dirty = new Set<OpenEpisode>();
  const untold = new Set<OpenEpisode>();

  function set(episode: OpenEpisode, change: Partial<Denial>): void {
    episode.denial = { ...episode.denial, ...change };
    dirty.add(episode);
    if (!episode.told) untold.add(episode);
  }

  /** A place in the queue led to seats, or was given up. */
  function endWait(key: string, attempt: Attempt): void {
    for (const episode of open.get(key) ?? []) if (isSameWait(episode.denial, attempt)) episode.waits = false;
  }

  function grant(key: string, at: number): void {
    if (at - generationAt > KEEP_MS) {
      olderGrants = grants;
      grants = new Map();
      generationAt = at;
    }
    const times = grants.getOrInsert(key, []);
    if (times.at(-1) !== at) times.push(at);
    for (const episode of open.get(key) ?? []) {
      // Seats that end a wait came later than within seconds, however short ago its user tried again.
      if (episode.denial.outcome === "queued" && !explains(at, episode.denial.at)) continue;
      if (episode.denial.outcome !== "granted_later" && episode.times.some((time) => explains(at, time)))
        set(episode, { outcome: "granted_later" });
    }
  }

  function denied(key: string, { kind, ...attempt }: Attempt): void {
    const { at, count } = attempt;
    const list = (open.get(key) ?? []).filter((episode) => mayGoOn(episode, at));
    const granted = [grants, olderGrants].some((of) => of.get(key)?.some((time) => explains(time, at)));
    const outcome: DenialOutcome = granted ? "granted_later" : kind === "queued" ? "queued" : "denied";
    const found = list.findLast(
      (episode) =>
        hasSameReason(episode, kind, attempt) &&
        ((episode.waits && isSameWait(episode.denial, attempt)) || goesOn(episode.denial, attempt, granted)),
    );
    if (found === undefined) {
      const denial = { ...attempt, attempts: 1, until: at, outcome };
      const episode: OpenEpisode = { denial, told: false, times: [at], waits: kind === "queued" };
      list.push(episode);
      set(episode, {});
    } else {
      found.times.push(at);
      if (kind === "queued") found.waits = true;
      const { denial } = found;
      set(found, {
        attempts: denial.attempts + (kind === "queued" ? 0 : 1),
        until: Math.max(denial.until, at),
        count: Math.max(denial.count, count),
        // A grant stands, and a denial does not take back a place in the queue.
        outcome: denial.outcome === "granted_later" || outcome === "denied" ? denial.outcome : outcome,
      });
    }
    open.set(key, list);
  }

  return {
    take(attempt: Attempt): void {
      const key = `${attempt.user ?? ""}\0${attempt.feature}`;
      const { kind, user, at } = attempt;
      if (kind === "denied" || kind === "queued") denied(key, attempt);
      else {
        if (kind === "granted" && user !== null) grant(key, at);
        endWait(key, attempt);
      }
    },
    /** Takes up an episode that an earlier process stored. */
    resume(denial: Denial, told: boolean): void {
      const key = `${denial.user ?? ""}\0${denial.feature ?? ""}`;
      const times = [...new Set([denial.at, denial.until])];
      const episode: OpenEpisode = { denial, told, times, waits: false };
      open.getOrInsert(key, []).push(episode);
      if (!told) untold.add(episode);
    },
    /** What `drain` yielded could not be stored, and no event went out: its next call yields it again. */
    again({ changed, settled }: Drained): void {
      for (const episode of changed as OpenEpisode[]) dirty.add(episode);
      for (const episode of settled as OpenEpisode[]) {
        episode.told = false;
        untold.add(episode);
      }
    },
    /** Something waits to be stored, or for its event. */
    get isWaiting(): boolean {
      return dirty.size + untold.size > 0;
    },
    /** Episodes that changed since the last call, and those whose outcome is settled by `now` and whose events are due. */
    drain(now: number): Drained {
      const settled = [...untold].filter(({ denial }) => now - denial.at > GRANT_AHEAD_MS);
      for (const episode of settled) {
        episode.told = true;
        untold.delete(episode);
        dirty.add(episode);
      }
      const changed = [...dirty];
      dirty = new Set();
      for (const [key, list] of open) {
        const rest = list.filter((episode) => !episode.told || mayGoOn(episode, now));
        if (rest.length === 0) open.delete(key);
        else if (rest.length < list.length) open.set(key, rest);
      }
      return { changed, settled };
    },
  };
}

interface Drained {
  readonly changed: readonly Episode[];
  readonly settled: readonly Episode[];
}

function explains(granted: number, denied: number): boolean {
  return granted - denied <= GRANT_AHEAD_MS && denied - granted <= GRANT_BACK_MS;
}

function mayGoOn({ denial, waits }: OpenEpisode, at: number): boolean {
  return at - denial.until <= KEEP_MS || (waits && at - denial.at <= LONGEST_WAIT_MS);
}

function isSameWait(denial: Denial, { at, server, daemon }: Omit<Attempt, "kind">): boolean {
  return denial.server === server && denial.daemon === daemon && at >= denial.at;
}

/** Reports whether an attempt has an episode's reason. Lines about the queue state none, so a wait takes any. */
function hasSameReason(
  { denial, waits }: OpenEpisode,
  kind: Attempt["kind"],
  attempt: Omit<Attempt, "kind">,
): boolean {
  if (kind === "queued" || (waits && denial.reason === null && denial.code === null)) return true;
  return denial.reason === attempt.reason && denial.code === attempt.code;
}

/** A granted episode is over: what is denied later is another one, unless the same grant explains it too. */
function goesOn(denial: Denial, { at, server, daemon }: Omit<Attempt, "kind">, granted: boolean): boolean {
  if (denial.server !== server || denial.daemon !== daemon) return false;
  if (Math.abs(at - denial.until) > RETRY_WINDOW_MS && (at < denial.at || at > denial.until)) return false;
  return granted || denial.outcome !== "granted_later";
}
