import { type Static, Type } from "@sinclair/typebox";
import { featureKey } from "./history.ts";
import type { FeaturePicture, ServerPicture } from "./picture.ts";
import {
  count,
  nullable,
  OfSite,
  record,
  Timestamp,
  textOrNull,
  time,
  timeOrNull,
  words,
} from "./records.ts";
import { DAY_MS, iso } from "./time/clock.ts";
import { DENIAL_STATES } from "./words.ts";

export const DENIAL_OUTCOMES = ["denied", "granted_later", "queued"] as const;
/** Denied for good, granted within seconds by any pool or server, or queued. */
export type DenialOutcome = (typeof DENIAL_OUTCOMES)[number];

/** Repeated attempts of one user share a row. */
export const DenialFields = {
  ...OfSite,
  server: Type.String(),
  daemon: Type.String(),
  feature: textOrNull("Null if the manager counts denials per daemon only"),
  user: nullable(Type.String()),
  host: textOrNull("Host of the first attempt"),
  count: count("Requested seats, or the number of denials if the manager only counts them", 1),
  reason: textOrNull("As printed by the manager"),
  code: nullable(Type.Integer({ description: "The manager's error number, e.g. -4" })),
  attempts: count("Consecutive denied requests of one user for the same reason", 1),
  until: time("The last attempt"),
  outcome: words(
    DENIAL_OUTCOMES,
    "granted_later: the seats came within seconds, from any pool or server. Statistics and alerts count " +
      "only `denied`",
  ),
};

export const DenialRecord = record("Denial", { timestamp: Timestamp, ...DenialFields });
export type DenialRecord = Static<typeof DenialRecord>;

export const LoggingRecord = record("DenialLogging", {
  ...OfSite,
  server: Type.String(),
  state: words(DENIAL_STATES),
  source: nullable(words(["debug_log", "counters"])),
  since: timeOrNull("Start of the current uninterrupted period"),
  message: textOrNull("Reason, and how to fix it"),
});
export type LoggingRecord = Static<typeof LoggingRecord>;

export interface Denial extends Omit<DenialRecord, "timestamp" | "until"> {
  /** First attempt; for counted denials, the poll that saw the counter grow. */
  readonly at: number;
  /** Last attempt. */
  readonly until: number;
}

/** Copies each field: object spread took a third of the time of a long list. */
export function denialRecord(denial: Denial): DenialRecord {
  const { server, daemon, feature, user, host, count, reason, code, attempts, outcome } = denial;
  const [timestamp, until] = [iso(denial.at), iso(denial.until)];
  return { timestamp, server, daemon, feature, user, host, count, reason, code, attempts, outcome, until };
}

interface Counted {
  readonly daemon: string;
  /** Name of the feature; null if the manager counts denials per daemon only. */
  readonly feature: string | null;
  readonly count: number;
}

/** Makes a denial from a counter that grew between polls, with unknown users. */
export function countedDenials(server: string, { daemon, feature, count }: Counted, at: number): Denial {
  const unknown = { user: null, host: null, reason: null, code: null };
  return { at, server, daemon, feature, count, attempts: count, until: at, ...unknown, outcome: "denied" };
}

/** Last value of each counter, by daemon or feature. */
export type DenialCounters = Readonly<Record<string, number>>;

type Counting = Pick<ServerPicture, "daemons"> & {
  readonly features: readonly Pick<FeaturePicture, "daemon" | "name" | "totals">[];
};

export function countsByFeature({ features }: Counting): boolean {
  return features.some(({ totals }) => totals !== undefined && totals.denials !== null);
}

/**
 * Returns how much the manager's counters grew: per feature if it has such counters, else per daemon. The
 * first reading of a counter sets its starting value. If a daemon's counter fell, a restart reset the
 * counter, so the whole new value counts. If a feature's counter fell, nothing counts, because the counter
 * may cover a sliding window (LM-X: the last 24 hours).
 */
export function countDenials(before: DenialCounters, picture: Counting) {
  const ofDaemons = () =>
    picture.daemons.map(({ name, totals }) => ({ key: name, daemon: name, feature: null, totals }));
  const ofFeatures = () =>
    picture.features.map(({ daemon, name, totals }) => {
      return { key: featureKey(daemon, name), daemon, feature: name, totals };
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
  const changed = Object.keys(counters).some((key) => counters[key] !== before[key]);
  return { counters: counters as DenialCounters, denied, changed };
}

/** Maximum time between attempts that share a row. Clients retry every 30 to 60 seconds. */
export const RETRY_WINDOW_MS = 300_000;
/** Maximum time from a denial to the grant of the same request. */
const GRANT_AHEAD_MS = 10_000;
/** Maximum time from a grant by another pool or server to the denial of the same request. */
const GRANT_BACK_MS = 2_000;
/** Maximum delay of one server's log relative to the logs of the others. */
const LATE_MS = 60_000;
const KEEP_MS = RETRY_WINDOW_MS + LATE_MS;
/** Time after which a queue entry counts as abandoned if its end was never read. */
const LONGEST_WAIT_MS = DAY_MS;

export interface Attempt
  extends Pick<Denial, "at" | "server" | "daemon" | "user" | "host" | "count" | "reason" | "code"> {
  readonly kind: "denied" | "granted" | "queued" | "dequeued";
  readonly feature: string;
}

/** Attempts that share a row. All attempts update the same object. */
export interface Episode {
  readonly denial: Denial;
  /** Whether the event of the episode was sent. An episode has one event, sent when its outcome is final. */
  readonly told: boolean;
  readonly times: readonly number[];
}

interface OpenEpisode extends Episode {
  denial: Denial;
  told: boolean;
  readonly times: number[];
  /** Whether the request is queued. Further requests of this user then belong to it. */
  waits: boolean;
}

/**
 * Groups attempts into episodes. One instance serves all servers, because another server may grant a denied
 * request. Attempts arrive roughly in time order; logs of different servers may be a few seconds apart.
 */
export function createEpisodes() {
  /** Episodes that may continue, by user and feature. */
  const open = new Map<string, OpenEpisode[]>();
  /** Recent grants by user and feature. The older generation is dropped as a whole. */
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

  /** Ends a wait in the queue, by a grant or because the user gave up. */
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
      // Keep `queued` unless the grant came within seconds of the first attempt: a later retry does not
      // shorten the wait.
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
        // `granted_later` is final, and a denial does not replace `queued`.
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
    /** Restores an episode that an earlier process stored. */
    resume(denial: Denial, told: boolean): void {
      const key = `${denial.user ?? ""}\0${denial.feature ?? ""}`;
      const times = [...new Set([denial.at, denial.until])];
      const episode: OpenEpisode = { denial, told, times, waits: false };
      open.getOrInsert(key, []).push(episode);
      if (!told) untold.add(episode);
    },
    /** Puts back episodes from `drain` that could not be stored. */
    again({ changed, settled }: Drained): void {
      for (const episode of changed as OpenEpisode[]) dirty.add(episode);
      for (const episode of settled as OpenEpisode[]) {
        episode.told = false;
        untold.add(episode);
      }
    },
    get isWaiting(): boolean {
      return dirty.size + untold.size > 0;
    },
    /**
     * Returns the episodes that changed since the last call, and those whose outcome is final at `now` and
     * whose events are due.
     */
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

/**
 * Reports whether an attempt has the reason of an episode. Log lines about the queue give no reason, so they
 * match any wait.
 */
function hasSameReason(
  { denial, waits }: OpenEpisode,
  kind: Attempt["kind"],
  attempt: Omit<Attempt, "kind">,
): boolean {
  if (kind === "queued" || (waits && denial.reason === null && denial.code === null)) return true;
  return denial.reason === attempt.reason && denial.code === attempt.code;
}

/**
 * Reports whether an attempt continues an episode. A denial after a grant starts a new episode, unless a
 * grant explains this denial, too.
 */
function goesOn(denial: Denial, { at, server, daemon }: Omit<Attempt, "kind">, granted: boolean): boolean {
  if (denial.server !== server || denial.daemon !== daemon) return false;
  if (Math.abs(at - denial.until) > RETRY_WINDOW_MS && (at < denial.at || at > denial.until)) return false;
  return granted || denial.outcome !== "granted_later";
}
