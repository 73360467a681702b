import type { FeatureReading, PoolReading, Reading, ToolError } from "../domain/reading.ts";
import { asPrinted } from "./calendar.ts";
import { hash } from "./random.ts";
import { membersOf, wholeReading } from "./reading-parts.ts";
import { expiryOf, type PoolSpec } from "./server-spec.ts";
import { type FeatureState, handleOf, type ServerState } from "./state.ts";

/** A host that is switched off, as lmutil 11.x words it. */
const MEMBER_DOWN: ToolError = {
  message: 'Cannot connect to license server system. (-15,570:115 "Operation now in progress")',
  major: -15,
  minor: 570,
  system: 115,
  kind: "unreachable",
};

const REFUSED: ToolError = {
  message:
    'Error getting status: Cannot connect to license server system. (-15,570:111 "Connection refused")',
  major: -15,
  minor: 570,
  system: 111,
  kind: "unreachable",
};

/** What lmstat would say of a server in this state. */
export function flexnetReading(state: ServerState): Reading {
  const { zone, instant, spec } = state;
  const head = { manager: "flexnet", reportTime: asPrinted(zone, instant), toolVersion: null } as const;
  if (state.silent) {
    return wholeReading({ ...head, members: [], daemons: [], features: [], errors: [REFUSED] });
  }
  return wholeReading({
    ...head,
    members: membersOf(state, MEMBER_DOWN),
    daemons: spec.daemons.map(({ name, version }) => ({
      name,
      status: "up",
      version,
      error: null,
      totals: null,
    })),
    // Each daemon prints its own list.
    features: spec.daemons.flatMap(({ name }) =>
      state.features.flatMap((feature, index) =>
        feature.spec.daemon === name ? [featureReading(state, feature, index)] : [],
      ),
    ),
  });
}

function featureReading(state: ServerState, feature: FeatureState, index: number): FeatureReading {
  const { spec, grants, waits, idleKept } = feature;
  const { seed, zone } = state;
  const uncounted = spec.pools.some((pool) => pool.seats === null);
  const held = grants.reduce((sum, grant) => sum + grant.request.count, 0);
  const idle = idleKept.reduce((sum, seats) => sum + seats, 0);
  const used = held + idle;
  return {
    daemon: spec.daemon,
    name: spec.name,
    total: uncounted ? null : spec.pools.reduce((sum, pool) => sum + (pool.seats ?? 0), 0),
    used: uncounted ? null : used,
    unlimited: uncounted,
    error: null,
    pools: spec.pools.map((pool, at) => poolReading(state, pool, usedOf(feature, at))),
    checkouts: grants
      .map(({ request, startedAt, endsAt, pool }) => {
        const handle = String(handleOf(state, index, request));
        const pid = state.spec.pids ? 1000 + (hash(seed, state.spec.id, "pid", handle) % 4_000_000) : null;
        return {
          user: request.actor.user,
          host: request.actor.host,
          display: request.actor.display,
          qualifier: null,
          version: spec.pools[pool]?.version ?? null,
          count: request.count,
          handle,
          pid,
          startedAt: asPrinted(zone, startedAt),
          lingerSeconds: request.borrowed ? Math.ceil((endsAt - state.instant) / 1000) : null,
          borrowed: request.borrowed,
          pool,
        };
      })
      // They stand under their pools.
      .sort((a, b) => a.pool - b.pool || a.startedAt - b.startedAt),
    reservations: spec.kept.flatMap(({ type, name }, kept) => {
      const count = idleKept[kept] ?? 0;
      return count > 0 ? [{ type, name, count, pool: 0 }] : [];
    }),
    queue: waits.map(({ request, pool }) => ({
      user: request.actor.user,
      host: request.actor.host,
      display: request.actor.display,
      qualifier: null,
      version: spec.pools[pool]?.version ?? null,
      count: request.count,
      handle: String(handleOf(state, index, request)),
      pool,
    })),
    consistency: "ok",
    cut: false,
  };
}

/** Seats of the checkouts and reservations that stand under a pool. */
function usedOf({ spec, grants, idleKept }: FeatureState, pool: number): number {
  const held = grants.reduce((sum, grant) => (grant.pool === pool ? sum + grant.request.count : sum), 0);
  return spec.kept.length > 0 && pool === 0 ? idleKept.reduce((sum, seats) => sum + seats, held) : held;
}

function poolReading({ zone, week }: ServerState, pool: PoolSpec, used: number): PoolReading {
  return {
    number: null,
    version: pool.version,
    vendorString: pool.vendorString,
    kind: pool.kind,
    total: pool.seats,
    // lmstat prints no count of an uncounted pool.
    used: pool.seats === null ? null : used,
    unlimited: pool.seats === null,
    expiry: expiryOf(pool.expires, zone, week),
  };
}
