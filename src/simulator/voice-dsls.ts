import type { CheckoutReading, FeatureReading } from "../domain/reading.ts";
import { hash } from "./random.ts";
import type { Grant } from "./seats.ts";
import type { FeatureSpec } from "./spec.ts";
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

const CUSTOMER = "40011";

/** DSLicSrv of DSLS: it prints no clock and no daemon, and times to the second. */
export function dslsVoice(state: ServerState) {
  const { spec, members } = state;
  const head = { reportTime: null, toolVersion: spec.version, daemons: [] };
  return {
    ...head,
    members: members.map(({ host, port, down }) => {
      const error = unreachable(`Cannot connect to server ${host} on port ${port}`);
      const isUp = !down && !state.silent;
      return isUp
        ? { host, port, status: "up" as const, master: false, version: spec.version, error: null }
        : { host, port, status: "down" as const, master: false, version: null, error };
    }),
    errors: state.silent
      ? members.map(({ host, port }) => unreachable(`Cannot connect to server ${host} on port ${port}`))
      : [],
    features: state.silent ? [] : eachFeature(state, featureOf),
  };
}

function featureOf(
  state: ServerState,
  { spec, grants, assignments }: FeatureState,
  index: number,
): FeatureReading {
  const inTime = grants.toSorted((a, b) => a.pool - b.pool || a.startedAt - b.startedAt);
  const named = assignments?.map((one) => ({
    ...one,
    // A session that somebody forgot goes on beside that of the next morning, on the same license.
    grant: inTime.find(({ request }) => request.actor.user === one.person.user),
  }));
  const held = named?.flatMap(({ grant }) => grant ?? []) ?? inTime;
  return {
    ...featureBase(spec),
    used: heldOf(held),
    pools: spec.pools.map((pool, at) => ({
      ...poolReading(state, pool, heldOf(held, at)),
      vendorString: `${modelOf(spec)},STD,YLC,${CUSTOMER}`,
      ...(named !== undefined && { kind: "unknown" as const }),
    })),
    checkouts: held.map((grant) => checkoutOf(state, spec, grant, index)),
    reservations: [],
    queue: [],
    ...(named !== undefined && {
      assigned: named.map(({ person: { user, host }, since, grant }) => {
        return { user, host: grant?.request.actor.host ?? host, since };
      }),
    }),
  };
}

function modelOf({ unit, assigned }: FeatureSpec): string {
  if (unit !== "seats") return unit === "tokens" ? "Token" : "Credit";
  return assigned === null ? "ConcurrentUser" : "NamedUser";
}

function checkoutOf(state: ServerState, { name }: FeatureSpec, grant: Grant, index: number): CheckoutReading {
  const { request, startedAt, pool } = grant;
  const { actor, count } = request;
  // Jobs run on compute nodes.
  const windows = state.spec.staff.windows && !actor.host.startsWith("cn-");
  const handle = handleOf(state, index, request).toString(16).toUpperCase().padStart(7, "0");
  return {
    user: actor.user,
    host: actor.host,
    display: null,
    qualifier: windows ? `C:\\Program Files\\Orbiform\\${name}.exe` : `/opt/orbiform/bin/${name}`,
    version: "6.426",
    count,
    handle,
    pid: 1000 + (hash(state.seed, state.spec.id, "pid", handle) % 4_000_000),
    startedAt: Math.floor(startedAt / 1000) * 1000,
    lingerSeconds: null,
    borrowed: false,
    pool,
  };
}
