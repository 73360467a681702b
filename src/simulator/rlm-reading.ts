import type { FeatureReading, MemberReading, PoolReading, Reading, ToolError } from "../domain/reading.ts";
import { asPrinted } from "./calendar.ts";
import { wholeReading } from "./reading-parts.ts";
import { expiryOf, type MemberSpec } from "./server-spec.ts";
import { type FeatureState, handleOf, type ServerState } from "./state.ts";

/** rlm gives its ISV servers ports of the dynamic range. */
export const FIRST_ISV_PORT = 49_152;

/** What rlmstat would say of a server in this state. Its clock has seconds, its checkouts have minutes. */
export function rlmReading(state: ServerState): Reading {
  const { instant, spec, members } = state;
  const head = { manager: "rlm", toolVersion: spec.version } as const;
  if (state.silent) {
    const failed = members.map(silentMember);
    const errors = failed.flatMap(({ error }) => (error === null ? [] : [error]));
    return wholeReading({ ...head, reportTime: null, members: failed, daemons: [], features: [], errors });
  }
  return wholeReading({
    ...head,
    reportTime: Math.floor(instant / 1000) * 1000,
    members: members.map(({ host, port }) => ({
      host,
      port,
      status: "up",
      master: false,
      version: spec.version,
      error: null,
    })),
    daemons: spec.daemons.map(({ name, version }, index) => ({
      name,
      status: "up",
      version,
      error: null,
      totals: { ...state.totals(name), removals: 0 },
      port: FIRST_ISV_PORT + index,
    })),
    features: spec.daemons.flatMap(({ name }) =>
      state.features.flatMap((feature, index) =>
        feature.spec.daemon === name ? [featureReading(state, feature, index)] : [],
      ),
    ),
  });
}

function featureReading(state: ServerState, feature: FeatureState, index: number): FeatureReading {
  const { spec, grants } = feature;
  const { zone, week } = state;
  const pools = spec.pools.map(
    (pool, ordinal): PoolReading => ({
      // Numbers of their own only where one product has several, as rlmstat prints them.
      number: spec.pools.length > 1 ? String(ordinal + 1) : null,
      version: pool.version,
      vendorString: null,
      // rlmstat does not say whether counted seats float.
      kind: pool.seats === null ? "uncounted" : "unknown",
      total: pool.seats,
      used: grants.reduce((sum, grant) => (grant.pool === ordinal ? sum + grant.request.count : sum), 0),
      unlimited: pool.seats === null,
      expiry: expiryOf(pool.expires, zone, week),
    }),
  );
  const unlimited = pools.some((pool) => pool.unlimited);
  return {
    daemon: spec.daemon,
    name: spec.name,
    total: unlimited ? null : pools.reduce((sum, pool) => sum + (pool.total ?? 0), 0),
    used: pools.reduce((sum, pool) => sum + (pool.used ?? 0), 0),
    unlimited,
    reserved: unlimited ? null : spec.kept.reduce((sum, kept) => sum + kept.seats, 0),
    error: null,
    pools,
    checkouts: grants
      .map(({ request, startedAt, pool }) => {
        const version = spec.pools[pool]?.version ?? null;
        return {
          user: request.actor.user,
          host: request.actor.host,
          display: null,
          qualifier: null,
          version,
          count: request.count,
          handle: handleOf(state, index, request).toString(16),
          pid: null,
          startedAt: asPrinted(zone, startedAt),
          lingerSeconds: null,
          borrowed: false,
          // Usage lines name the version and no pool: of two pools of one version it could be either.
          pool: spec.pools.filter((other) => other.version === version).length === 1 ? pool : null,
        };
      })
      .sort((a, b) => a.startedAt - b.startedAt),
    reservations: [],
    queue: [],
    consistency: "ok",
    cut: false,
  };
}

function silentMember({ host, port }: MemberSpec): MemberReading {
  const error: ToolError = {
    message: [
      'Error connecting to "rlm" server',
      `Connection attempted to host: "${host}" on port ${port}`,
      "Cannot connect to license server (-17)",
    ].join("\n"),
    major: -17,
    minor: null,
    system: null,
    kind: "unreachable",
  };
  return { host, port, status: "down", master: false, version: null, error };
}
