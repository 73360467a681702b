import type { Denial, DenialOutcome } from "../denials.ts";

/** A user who tries again within this time goes on with the same row. Clients retry every 30 to 60 seconds. */
export const RETRY_WINDOW_MS = 300_000;
/** Seats that come this soon after a denial, or came this shortly before it, make it none: another pool or server had them. */
export const GRANT_AHEAD_MS = 10_000;
export const GRANT_BACK_MS = 2_000;

/** What a log says of one request. */
export interface Attempt {
  readonly kind: "denied" | "granted" | "queued";
  readonly at: number;
  readonly server: string;
  readonly daemon: string;
  readonly feature: string;
  readonly user: string | null;
  readonly host: string | null;
  readonly count: number;
  readonly reason: string | null;
  readonly code: number | null;
}

/** An episode as it stands. The same object from its first attempt to its end; a copy goes to the store. */
export interface Episode {
  readonly denial: Denial;
  /** Whether it was told (as an event): once, when its outcome can be known. */
  readonly told: boolean;
  /** Every attempt in it, epoch ms. */
  readonly times: readonly number[];
}

/**
 * Makes episodes of attempts: one for all servers, because what one denies another may grant. Attempts come in about
 * the order of time; servers' logs may be a few seconds apart.
 */
export interface Episodes {
  take(attempt: Attempt): void;
  /** Takes up an episode that an earlier process stored. */
  resume(denial: Denial, told: boolean): void;
  /** What `drain` yielded could not be stored and was not told: its next call yields it again. */
  again(drained: Drained): void;
  /** Something waits to be stored or told. */
  readonly isWaiting: boolean;
  /** Episodes that changed since the last call, and those whose outcome is settled by `now` and that are to be told. */
  drain(now: number): Drained;
}

export interface Drained {
  readonly changed: readonly Episode[];
  readonly settled: readonly Episode[];
}

interface OpenEpisode {
  denial: Denial;
  told: boolean;
  times: number[];
}

/** How much later than its neighbours' a log may be read. */
const LATE_MS = 60_000;
const KEEP_MS = RETRY_WINDOW_MS + LATE_MS;

export function createEpisodes(): Episodes {
  /** By user and feature, over all servers: the episodes that may still go on. */
  const open = new Map<string, OpenEpisode[]>();
  /** Seats that were taken lately, by user and feature. Two generations: the older one is dropped as a whole. */
  let grants = new Map<string, number[]>();
  let olderGrants = new Map<string, number[]>();
  let generationAt = Number.NEGATIVE_INFINITY;
  let dirty = new Set<OpenEpisode>();
  const untold = new Set<OpenEpisode>();

  function touch(episode: OpenEpisode): void {
    dirty.add(episode);
    if (!episode.told) untold.add(episode);
  }

  function set(episode: OpenEpisode, change: Partial<Denial>): void {
    episode.denial = { ...episode.denial, ...change };
    touch(episode);
  }

  function grant(key: string, at: number): void {
    if (at - generationAt > KEEP_MS) {
      olderGrants = grants;
      grants = new Map();
      generationAt = at;
    }
    const times = grants.get(key);
    if (times === undefined) grants.set(key, [at]);
    else if (times.at(-1) !== at) times.push(at);
    for (const episode of open.get(key) ?? []) {
      if (episode.denial.outcome !== "granted_later" && episode.times.some((time) => explains(at, time)))
        set(episode, { outcome: "granted_later" });
    }
  }

  function wasGranted(key: string, at: number): boolean {
    return [grants, olderGrants].some((of) => of.get(key)?.some((granted) => explains(granted, at)) === true);
  }

  function denied(key: string, attempt: Attempt): void {
    const { at, server, daemon, feature, user, host, count, reason, code } = attempt;
    const list = (open.get(key) ?? []).filter(({ denial }) => at - denial.until <= KEEP_MS);
    const granted = wasGranted(key, at);
    const outcome: DenialOutcome = granted
      ? "granted_later"
      : attempt.kind === "queued"
        ? "queued"
        : "denied";
    const found = list.findLast((episode) => goesOn(episode, attempt, granted));
    if (found === undefined) {
      const episode: OpenEpisode = {
        denial: {
          at,
          server,
          daemon,
          feature,
          user,
          host,
          count,
          reason,
          code,
          attempts: 1,
          until: at,
          outcome,
        },

        told: false,
        times: [at],
      };
      list.push(episode);
      touch(episode);
    } else {
      found.times.push(at);
      const { denial } = found;
      set(found, {
        attempts: denial.attempts + (attempt.kind === "queued" ? 0 : 1),
        until: Math.max(denial.until, at),
        count: Math.max(denial.count, count),
        reason: denial.reason ?? reason,
        code: denial.code ?? code,
        outcome:
          denial.outcome === "granted_later"
            ? denial.outcome
            : outcome === "denied"
              ? denial.outcome
              : outcome,
      });
    }
    open.set(key, list);
  }

  return {
    take(attempt) {
      const key = `${attempt.user ?? ""}\0${attempt.feature}`;
      if (attempt.kind !== "granted") denied(key, attempt);
      else if (attempt.user !== null) grant(key, attempt.at);
    },
    resume(denial, told) {
      const key = `${denial.user ?? ""}\0${denial.feature ?? ""}`;
      const times = denial.at === denial.until ? [denial.at] : [denial.at, denial.until];
      const episode: OpenEpisode = { denial, told, times };
      open.set(key, [...(open.get(key) ?? []), episode]);
      if (!told) untold.add(episode);
    },
    again({ changed, settled }) {
      for (const episode of changed) dirty.add(episode as OpenEpisode);
      for (const episode of settled as OpenEpisode[]) {
        episode.told = false;
        untold.add(episode);
      }
    },
    get isWaiting() {
      return dirty.size + untold.size > 0;
    },
    drain(now) {
      const settled: OpenEpisode[] = [];
      for (const episode of untold) {
        if (now - episode.denial.at <= GRANT_AHEAD_MS) continue;
        episode.told = true;
        untold.delete(episode);
        dirty.add(episode);
        settled.push(episode);
      }
      const changed = [...dirty];
      dirty = new Set();
      for (const [key, list] of open) {
        const rest = list.filter(({ denial, told }) => !told || now - denial.until <= KEEP_MS);
        if (rest.length === 0) open.delete(key);
        else if (rest.length < list.length) open.set(key, rest);
      }
      return { changed, settled };
    },
  };
}

function explains(granted: number, denied: number): boolean {
  return granted - denied <= GRANT_AHEAD_MS && denied - granted <= GRANT_BACK_MS;
}

/** A granted episode is over: what is denied later is another one, unless the same grant explains it too. */
function goesOn({ denial }: OpenEpisode, { at, server, daemon }: Attempt, granted: boolean): boolean {
  if (denial.server !== server || denial.daemon !== daemon) return false;
  if (Math.abs(at - denial.until) > RETRY_WINDOW_MS && (at < denial.at || at > denial.until)) return false;
  return granted ? true : denial.outcome !== "granted_later";
}
