import type { FeatureReading } from "../domain/reading.ts";
import { asPrinted } from "./calendar.ts";
import {
  eachFeature,
  type FeatureState,
  featureBase,
  heldOf,
  poolReading,
  type ServerState,
  unreachable,
} from "./state.ts";

/** lsmon of Sentinel RMS: clients and those that wait by name, in one version of each feature; no daemons, no handles. */
export function rmsVoice(state: ServerState) {
  const { spec, members, silent } = state;
  const error = silent ? unreachable("Server name not set, or monitor cannot talk to the server.") : null;
  return {
    reportTime: null,
    toolVersion: spec.version,
    members: members.map(({ host }) => ({
      host,
      port: null,
      status: silent ? ("down" as const) : ("up" as const),
      master: false,
      version: null,
      error,
    })),
    daemons: [],
    features: silent ? [] : eachFeature(state, featureOf),
    errors: error === null ? [] : [error],
  };
}

function featureOf(state: ServerState, { spec, grants, waits }: FeatureState): FeatureReading {
  const unprinted = { display: null, qualifier: null, version: null, handle: null, pool: 0 };
  const used = heldOf(grants);
  return {
    ...featureBase(spec),
    used,
    pools: spec.pools.map((pool) => poolReading(state, pool, used)),
    checkouts: grants
      .toSorted((a, b) => a.startedAt - b.startedAt)
      .map(({ request: { actor, count }, startedAt }) => ({
        ...unprinted,
        user: actor.user,
        host: actor.host,
        count,
        pid: null,
        startedAt: asPrinted(state.zone, startedAt),
        lingerSeconds: null,
        borrowed: false,
      })),
    reservations: [],
    queue: waits.map(({ request: { actor, count } }) => {
      return { ...unprinted, user: actor.user, host: actor.host, count };
    }),
    reserved: 0,
  };
}
