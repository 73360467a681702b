import type { FeaturePicture } from "../../src/domain/picture.ts";
import { HEARTBEAT_MS, MAX_FACTS } from "../../src/fleet/protocol.ts";
import { feature, picture } from "../../test/http/make.ts";
import { pictureStates } from "../../test/hub/pictures.ts";
import { madeUpSite } from "../../test/hub/rig.ts";

/** Size of a simulated fleet; all sites and servers have the same size. */
export interface Shape {
  readonly sites: number;
  readonly servers: number;
  readonly features: number;
}

/** Number of seats in use per feature. */
const HELD = 4;
const POLL_MS = 60_000;
/** Number of features that change between two polls at rate 1. */
const CHANGED = 8;
/** Number of facts per second and feature at nine in the morning: 18,000 features make 160 per second. */
export const FACTS_A_SECOND = 160 / 18_000;
/** Maximum time that a sender waits before it retries. */
const LONGEST_PAUSE_MS = 60_000;

/** Counters of the fleet since they were last taken. Durations are in ms. */
export interface Tally {
  facts: number;
  bytes: number;
  pushes: number;
  /** Number of pushes without an answer, or with a status other than 200. */
  failures: number;
  readonly refusals: Map<number, number>;
  /** Duration of each push in ms. */
  pushMs: number[];
  /** Age of the oldest fact of each push at the time when the hub stored the push. */
  lagMs: number[];
}

const newTally = (): Tally => ({
  ...{ facts: 0, bytes: 0, pushes: 0, failures: 0, refusals: new Map(), pushMs: [], lagMs: [] },
});

export type Fleet = ReturnType<typeof createFleet>;

/**
 * Creates sites that push like real ones: facts in order, and the newest pictures. A site pushes every ten
 * seconds, or at once while it has more facts.
 */
export function createFleet(shape: Shape, url: string, keys: readonly string[]) {
  let factor = 1;
  let tally = newTally();
  let stopped = false;
  /** Time until which sites cannot reach the hub, by `performance.now()`. */
  let awayUntil = 0;
  const sites = keys.map((key, index) => createSite(key, index));

  function createSite(key: string, index: number) {
    const site = madeUpSite(`site${index}`, key);
    const seats = shape.servers * shape.features * HELD;
    const servers = Array.from({ length: shape.servers }, (_, n) => `s${n}`);
    const polledAt = servers.map(() => 0);
    /** Pictures that the hub does not have yet. */
    let unsent: object[] = [];
    const numbers = servers.map(() => 1);
    let polls = 0;
    let cursor = 0;
    /**
     * Number of facts so far, and the time up to which they were made. The first `seats` facts are sessions that are open
     * from the start.
     */
    let made = seats;
    let madeUntil = Date.now();
    /** Periods in which facts were made, oldest first. `first` is the number of the first fact of a period. */
    let runs: { readonly first: number; readonly from: number; readonly until: number }[] = [];

    /** Makes the facts up to `until`. */
    function make(until: number): void {
      const each = shape.servers * shape.features * FACTS_A_SECOND * factor;
      const count = Math.floor(((until - madeUntil) / 1000) * each + Math.random());
      if (count > 0) runs.push({ first: made + 1, from: madeUntil, until });
      made += Math.max(0, count);
      madeUntil = until;
    }

    function timeOf(seq: number): number {
      const at = runs.findLastIndex(({ first }) => first <= seq);
      const run = runs[at];
      if (run === undefined) return madeUntil;
      const last = (runs[at + 1]?.first ?? made + 1) - run.first;
      return Math.floor(run.from + ((run.until - run.from) * (seq - run.first)) / last);
    }

    /**
     * Returns the pictures of servers whose poll is due. A server's first picture is complete; later ones
     * contain only changes.
     */
    function states(now: number): object[] {
      if (cursor === 0) {
        if (unsent.length > 0) return [];
        polledAt.fill(now - Math.random() * POLL_MS);
        const features = Array.from({ length: shape.features }, (_, n) => featureAt(index, n, 0));
        const at = Date.now();
        return pictureStates(servers.map((id) => picture(id, { features, collectedAt: at, lastPollAt: at })));
      }
      return servers.flatMap((id, n) => {
        if (now - (polledAt[n] ?? 0) < POLL_MS) return [];
        polledAt[n] = Math.max((polledAt[n] ?? 0) + POLL_MS, now - POLL_MS);
        const number = (numbers[n] ?? 0) + 1;
        numbers[n] = number;
        const changed = Math.min(shape.features, Math.ceil(CHANGED * factor));
        polls++;
        const features = Array.from({ length: changed }, (_, k) => {
          const { collectedAt, ...rest } = featureAt(index, (polls * changed + k) % shape.features, polls);
          return rest;
        });
        const at = Date.now();
        const { features: __, ...head } = picture(id, { collectedAt: at, lastPollAt: at });
        return [
          {
            kind: "picture",
            server: id,
            from: number - 1,
            to: number,
            head,
            features,
            gone: [],
            order: null,
            more: false,
          },
        ];
      });
    }

    /** Sends one push and reports whether more facts wait. */
    async function push(): Promise<boolean> {
      make(Date.now());
      const begun = performance.now();
      const to = Math.min(made, cursor + MAX_FACTS);
      const facts = Array.from({ length: to - cursor }, (_, n) =>
        factAt(cursor + 1 + n, timeOf(cursor + 1 + n)),
      );
      const oldest = facts.length === 0 || cursor < seats ? null : timeOf(cursor + 1);
      unsent.push(...states(begun));
      const body = site.push({
        ...{ from: cursor + 1, to, head: made, waitingSince: to < made ? timeOf(to + 1) : null },
        ...{ begins: cursor === 0, facts, states: unsent as never },
      });
      const response = await site.send(url, body).catch(() => null);
      tally.pushes++;
      if (response?.ok !== true) {
        await response?.body?.cancel();
        tally.failures++;
        const status = response?.status ?? 0;
        tally.refusals.set(status, (tally.refusals.get(status) ?? 0) + 1);
        const seconds = Number(response?.headers.get("retry-after") ?? 0);
        await Bun.sleep(Math.max(seconds * 1000, 500 + Math.random() * 500));
        return true;
      }
      const answer = (await response.json()) as {
        readonly cursor: number;
        readonly wanted: readonly string[];
      };
      if (answer.wanted.length > 0) throw new Error(`the hub wants pictures of ${answer.wanted.join(", ")}`);
      tally.facts += answer.cursor - cursor;
      tally.pushMs.push(performance.now() - begun);
      if (oldest !== null) tally.lagMs.push(Date.now() - oldest);
      cursor = answer.cursor;
      unsent = [];
      const kept = runs.findLastIndex(({ first }) => first <= cursor + 1);
      runs = runs.slice(Math.max(0, kept));
      return cursor < made;
    }

    /**
     * Returns the fact with this number. The first facts are the open sessions; afterwards, an opened
     * session, a step, an ended session and a step alternate.
     */
    function factAt(seq: number, at: number) {
      const turn = seq <= seats ? 0 : seq % 4;
      if (turn % 2 === 1)
        return { kind: "step", seq, ...placeOf(seq), ...COUNTS, at, used: seq % COUNTS.total };
      const rest = Math.floor(Math.max(0, seq - seats) / 4);
      const isEnd = turn === 2;
      const id = isEnd ? rest + 1 : Math.min(seq, seats + 1 + rest);
      const times = { startedAt: at, beganAt: at, firstSeenAt: at, lastSeenAt: at };
      return {
        ...{ kind: "session", seq, change: isEnd ? "ended" : "opened", announced: true, id, ...placeOf(id) },
        ...{ user: userOf(id), host: `ws${id % 300}`, version: "v1", count: 1, handle: String(id), ...times },
        ...{ endedAt: isEnd ? at : null, endReason: isEnd ? "checkin" : null },
      };
    }

    const placeOf = (id: number) => ({
      server: `s${id % shape.servers}`,
      daemon: "acmed",
      feature: `Feature_${Math.floor(id / shape.servers) % shape.features}`,
    });

    return {
      push,
      isBehind() {
        const late = Date.now() - 2 * HEARTBEAT_MS;
        // A site makes facts only when it pushes. So a site that no longer pushes has no old facts, but is behind too.
        return cursor < seats || madeUntil < late || (cursor < made && timeOf(cursor + 1) < late);
      },
      /** Starts making facts at an earlier time. */
      rewind: (ms: number) => {
        madeUntil -= ms;
      },
    };
  }

  async function run(index: number): Promise<void> {
    const site = sites[index];
    await Bun.sleep((index / shape.sites) * HEARTBEAT_MS);
    while (!stopped && site !== undefined) {
      const begun = performance.now();
      if (begun < awayUntil) {
        await Bun.sleep(Math.min(awayUntil - begun, 1_000));
        // Senders retry at a random time within the longest pause.
        if (performance.now() >= awayUntil) await Bun.sleep(Math.random() * LONGEST_PAUSE_MS);
        continue;
      }
      const more = await site.push();
      if (!more) await Bun.sleep(Math.max(0, HEARTBEAT_MS - (performance.now() - begun)));
    }
  }

  const all = sites.map((_, index) => run(index));
  return {
    /** Returns the counters and resets them. */
    take(): Tally {
      const taken = tally;
      tally = newTally();
      return taken;
    },
    setFactor: (next: number) => {
      factor = next;
    },
    /**
     * Disconnects all sites for `ms`. Also moves the start of their next facts back, so that each site then
     * has facts of `factsMs` to send.
     */
    cut(ms: number, factsMs: number): void {
      awayUntil = performance.now() + ms;
      for (const site of sites) site.rewind(factsMs - ms);
    },
    /** Counts sites with facts older than two heartbeats. */
    behind: () => sites.filter((site) => site.isBehind()).length,
    async stop(): Promise<void> {
      stopped = true;
      await Promise.all(all);
    },
  };
}

const COUNTS = { total: 100, reserved: null, queued: 0, unlimited: false };
const userOf = (id: number) => `user${(id * 37) % 4_000}`;

/** A feature of a site as the hub receives it. `turn` selects the holders of its seats. */
function featureAt(site: number, n: number, turn: number): FeaturePicture {
  const template = feature(`Feature_${n}`);
  const [seat] = template.checkouts;
  const at = Date.now();
  const checkouts = Array.from({ length: HELD }, (_, held) => {
    const id = site * 7 + n * HELD + held + turn;
    const times = { startedAt: at - id * 1_000, firstSeenAt: at - id * 1_000, beganAt: at - id * 1_000 };
    const who = { user: userOf(id), host: `ws${id % 300}`, handle: String(id), session: 1 + n * HELD + held };
    return { ...seat, ...who, ...times, display: null } as FeaturePicture["checkouts"][number];
  });
  const used = (n + turn) % 5;
  return { ...template, used, available: 4 - used, utilization: used * 25, checkouts };
}
