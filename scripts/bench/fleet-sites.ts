import type { FeaturePicture } from "../../src/domain/picture.ts";
import { HEARTBEAT_MS, MAX_FACTS } from "../../src/fleet/protocol.ts";
import { feature, picture } from "../../test/http/make.ts";
import { pictureStates } from "../../test/hub/pictures.ts";
import { madeUpSite } from "../../test/hub/rig.ts";

/** A made-up fleet: each site has as many servers, and each server as many features. */
export interface Shape {
  readonly sites: number;
  readonly servers: number;
  readonly features: number;
}

/** Seats of a feature that are taken at each time. */
const HELD = 4;
const POLL_MS = 60_000;
/** Features that a poll finds changed at the rate 1. */
const CHANGED = 8;
/** Facts that one feature makes a second at nine in the morning: 160 a second of 18,000 features (design, arithmetic). */
export const FACTS_A_SECOND = 160 / 18_000;
/** Longest pause of a sender whose hub does not answer. */
const LONGEST_PAUSE_MS = 60_000;

/** How the fleet does at the moment; times in ms. */
export interface Tally {
  facts: number;
  bytes: number;
  pushes: number;
  /** Answered with another status than 200, or not at all. */
  failures: number;
  readonly refusals: Map<number, number>;
  /** Of each push, how long it took. */
  pushMs: number[];
  /** Of each push with facts, how old the oldest was when the hub had it. */
  lagMs: number[];
}

export const newTally = (): Tally => ({
  ...{ facts: 0, bytes: 0, pushes: 0, failures: 0, refusals: new Map(), pushMs: [], lagMs: [] },
});

export type Fleet = ReturnType<typeof createFleet>;

/** Sites that push as real ones do: facts in order with the newest pictures, every ten seconds, at once while more waits. */
export function createFleet(shape: Shape, url: string, keys: readonly string[]) {
  let factor = 1;
  let tally = newTally();
  let stopped = false;
  /** Until when no site reaches the hub, by `performance.now()`. */
  let awayUntil = 0;
  const sites = keys.map((key, index) => createSite(key, index));

  function createSite(key: string, index: number) {
    const site = madeUpSite(`site${index}`, key);
    const seats = shape.servers * shape.features * HELD;
    const servers = Array.from({ length: shape.servers }, (_, n) => `s${n}`);
    const polledAt = servers.map(() => 0);
    /** States that the hub does not have yet. */
    let untold: object[] = [];
    const numbers = servers.map(() => 1);
    let polls = 0;
    let cursor = 0;
    /** Facts that were made so far, and until when. Those of the first `seats` sessions are there from the start. */
    let made = seats;
    let madeUntil = Date.now();
    /** When facts were made, oldest first: from number `first` on. */
    let runs: { readonly first: number; readonly from: number; readonly until: number }[] = [];

    /** Time goes on to `until`: the facts of the time since are made. */
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

    /** Pictures of servers whose poll is due: whole at first, then what has changed. */
    function states(now: number): object[] {
      if (cursor === 0) {
        if (untold.length > 0) return [];
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

    /** One push; answers whether more waits. */
    async function push(): Promise<boolean> {
      make(Date.now());
      const begun = performance.now();
      const to = Math.min(made, cursor + MAX_FACTS);
      const facts = Array.from({ length: to - cursor }, (_, n) =>
        factAt(cursor + 1 + n, timeOf(cursor + 1 + n)),
      );
      const oldest = facts.length === 0 || cursor < seats ? null : timeOf(cursor + 1);
      untold.push(...states(begun));
      const body = site.push({
        ...{ from: cursor + 1, to, head: made, waitingSince: to < made ? timeOf(to + 1) : null },
        ...{ begins: cursor === 0, facts, states: untold as never },
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
      untold = [];
      const kept = runs.findLastIndex(({ first }) => first <= cursor + 1);
      runs = runs.slice(Math.max(0, kept));
      return cursor < made;
    }

    /** An opened session, a step, an ended session, a step, and so on; at first the sessions that are open. */
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
        // Facts are made when they are pushed: a site that has not pushed yet has none, and is behind all the same.
        return cursor < seats || madeUntil < late || (cursor < made && timeOf(cursor + 1) < late);
      },
      /** Begins to make facts so long ago. */
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
        // As senders do after a failure: somewhere within the longest pause.
        if (performance.now() >= awayUntil) await Bun.sleep(Math.random() * LONGEST_PAUSE_MS);
        continue;
      }
      const more = await site.push();
      if (!more) await Bun.sleep(Math.max(0, HEARTBEAT_MS - (performance.now() - begun)));
    }
  }

  const all = sites.map((_, index) => run(index));
  return {
    /** What there was since it was asked last. */
    take(): Tally {
      const taken = tally;
      tally = newTally();
      return taken;
    },
    setFactor: (next: number) => {
      factor = next;
    },
    /** No site reaches the hub for so long, in which they make the facts of `factsMs`. */
    cut(ms: number, factsMs: number): void {
      awayUntil = performance.now() + ms;
      for (const site of sites) site.rewind(factsMs - ms);
    },
    /** Sites with facts that are older than two heartbeats. */
    behind: () => sites.filter((site) => site.isBehind()).length,
    async stop(): Promise<void> {
      stopped = true;
      await Promise.all(all);
    },
  };
}

const COUNTS = { total: 100, reserved: null, queued: 0, unlimited: false };
const userOf = (id: number) => `user${(id * 37) % 4_000}`;

/** A feature of a site as the hub gets it; `turn` says who holds its seats. */
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
