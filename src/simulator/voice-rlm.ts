import type { FeatureReading } from "../domain/reading.ts";
import { asPrinted } from "./calendar.ts";
import {
  clientBase,
  eachFeature,
  type FeatureState,
  featureBase,
  handleOf,
  heldOf,
  poolReading,
  type ServerState,
  unreachable,
} from "./state.ts";

/** rlm gives its ISV servers ports of the dynamic range. */
const FIRST_ISV_PORT = 49_152;

/** rlmstat of RLM: its clock has seconds, and it counts since the server's start. */
export function rlmVoice(state: ServerState) {
  const { spec, instant, members } = state;
  const { version, daemons } = spec;
  const head = { reportTime: Math.floor(instant / 1000) * 1000, toolVersion: version };
  if (state.silent) {
    const error = unreachable("Cannot connect to license server (-17)");
    return { ...head, members: [], daemons: [], features: [], errors: [error] };
  }
  return {
    ...head,
    members: members.map(({ host, port }) => {
      return { host, port, status: "up" as const, master: false, version, error: null };
    }),
    daemons: daemons.map(({ name, version: own }, index) => ({
      name,
      status: "up" as const,
      version: own,
      error: null,
      totals: { ...state.totals(name), removals: 0 },
      port: FIRST_ISV_PORT + index,
    })),
    features: eachFeature(state, featureOf),
  };
}

function featureOf(state: ServerState, { spec, grants }: FeatureState, index: number): FeatureReading {
  const base = featureBase(spec);
  return {
    ...base,
    used: heldOf(grants),
    reserved: base.unlimited ? null : (spec.kept?.seats ?? 0),
    pools: spec.pools.map((pool, at) => ({
      ...poolReading(state, pool, heldOf(grants, at)),
      // Numbers of their own only where one product has several, as rlmstat prints them.
      number: spec.pools.length > 1 ? String(at + 1) : null,
      // rlmstat does not say whether counted seats float.
      kind: pool.seats === null ? "uncounted" : "unknown",
      vendorString: null,
    })),
    checkouts: grants
      .map(({ request, startedAt, pool }) => {
        const client = clientBase(spec, request, pool);
        return {
          ...client,
          display: null,
          handle: handleOf(state, index, request).toString(16),
          pid: null,
          startedAt: asPrinted(state.zone, startedAt),
          lingerSeconds: null,
          borrowed: false,
          // Usage lines name the version and no pool: of two pools of one version it could be either.
          pool: spec.pools.filter(({ version }) => version === client.version).length === 1 ? pool : null,
        };
      })
      .sort((a, b) => a.startedAt - b.startedAt),
    reservations: [],
    queue: [],
  };
}
