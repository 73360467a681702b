import type { FeatureReading } from "../domain/reading.ts";
import { asPrinted } from "./calendar.ts";
import { hash } from "./random.ts";
import {
  eachFeature,
  type FeatureState,
  featureBase,
  heldOf,
  poolReading,
  type ServerState,
  unreachable,
} from "./state.ts";

/** lmxendutil of LM-X: holders have no handle, and the address of their host stands where others print a display. */
export function lmxVoice(state: ServerState) {
  const { spec, members } = state;
  const head = { reportTime: null, toolVersion: spec.version };
  const error = unreachable("XF Error: Unable to connect to license server!");
  const down = { status: "down" as const, master: false, version: null, error };
  if (state.silent)
    return {
      ...head,
      members: members.map(({ host, port }) => ({ host, port, ...down })),
      daemons: [],
      features: [],
    };
  return {
    ...head,
    members: members.map(({ host, port }) => {
      return { host, port, status: "up" as const, master: false, version: spec.version, error: null };
    }),
    daemons: spec.daemons.map(({ name }) => {
      return { name, status: "up" as const, version: null, error: null, totals: null };
    }),
    features: eachFeature(state, featureOf),
  };
}

function featureOf(state: ServerState, { spec, grants }: FeatureState): FeatureReading {
  return {
    ...featureBase(spec),
    used: heldOf(grants),
    pools: spec.pools.map((pool, at) => ({
      ...poolReading(state, pool, heldOf(grants, at)),
      ...(spec.unit === "tokens" && { kind: "token" as const }),
    })),
    checkouts: grants
      .map(({ request: { actor, count }, startedAt, pool }) => ({
        user: actor.user,
        host: actor.host,
        display: addressOf(actor.host),
        qualifier: null,
        version: null,
        count,
        handle: null,
        pid: null,
        startedAt: asPrinted(state.zone, startedAt),
        lingerSeconds: null,
        borrowed: false,
        pool,
      }))
      .sort((a, b) => a.startedAt - b.startedAt),
    reservations: [],
    queue: [],
  };
}

function addressOf(host: string): string {
  const bits = hash("address", host);
  return `10.23.${bits % 250}.${1 + ((bits >>> 8) % 250)}`;
}
