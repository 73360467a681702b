import type { FeatureReading } from "../domain/reading.ts";
import { hash } from "./random.ts";
import {
  eachFeature,
  type FeatureState,
  featureBase,
  handleOf,
  heldOf,
  poolReading,
  type ServerState,
  unreachable,
} from "./state.ts";

/** `lstc_qrun -R` of LS-DYNA: programs, and the process of each job. No times, no handles. */
export function lsdynaVoice(state: ServerState) {
  const { members } = state;
  const head = { reportTime: null, toolVersion: null, daemons: [] };
  const errors = members.map(({ host }) => unreachable(`failed to open server ${host}`));
  if (state.silent)
    return {
      ...head,
      members: members.map(({ host, port }, at) => {
        return {
          host,
          port,
          status: "down" as const,
          master: false,
          version: null,
          error: errors[at] ?? null,
        };
      }),
      features: [],
      errors,
    };
  return {
    ...head,
    members: members.map(({ host, port }) => {
      return { host, port, status: "up" as const, master: false, version: null, error: null };
    }),
    features: eachFeature(state, featureOf),
  };
}

function featureOf(state: ServerState, { spec, grants, waits }: FeatureState, index: number): FeatureReading {
  const { seed, spec: server } = state;
  const used = heldOf(grants);
  const unknown = { user: null, host: null, display: null, qualifier: null, version: null, handle: null };
  const wanted = waits.reduce((sum, { request }) => sum + request.count, 0);
  return {
    ...featureBase(spec),
    ...(spec.seatGroup !== null && { seatGroup: spec.seatGroup }),
    used,
    pools: spec.pools.map((pool) => {
      return { ...poolReading(state, pool, used), version: null, kind: "unknown" as const };
    }),
    checkouts: grants
      .toSorted((a, b) => a.startedAt - b.startedAt)
      .map(({ request }) => ({
        ...unknown,
        user: request.actor.user,
        host: request.actor.host,
        count: request.count,
        pid: 1000 + (hash(seed, server.id, "pid", handleOf(state, index, request)) % 4_000_000),
        startedAt: null,
        lingerSeconds: null,
        borrowed: false,
        pool: 0,
      })),
    reservations: [],
    queue: wanted === 0 ? [] : [{ ...unknown, count: wanted, pool: 0 }],
  };
}
