import type { PoolReading, ToolError } from "../domain/reading.ts";
import type { Assignment, Request } from "./demand.ts";
import type { Grant, Wait } from "./seats.ts";
import { expiryOf, type FeatureSpec, type MemberSpec, type PoolSpec, type ServerSpec } from "./spec.ts";

/** A feature's life at one instant. */
export interface FeatureState {
  readonly spec: FeatureSpec;
  readonly grants: readonly Grant[];
  readonly waits: readonly Wait[];
  /** Kept seats that are not held. */
  readonly idleKept: number;
  /** Null where nobody has a seat by name. */
  readonly assignments: readonly Assignment[] | null;
}

/** Everything of a server at one instant that a manager's reading is made of. */
export interface ServerState {
  readonly seed: number;
  readonly zone: string;
  readonly instant: number;
  readonly spec: ServerSpec;
  readonly members: readonly MemberSpec[];
  readonly features: readonly FeatureState[];
  /** The server does not answer just now. */
  readonly silent: boolean;
  /** Grants and denials of a daemon since the server's last start. */
  totals(daemon: string): { readonly checkouts: number; readonly denials: number };
}

/** What a manager's tool says of a feature; `index` is its place in the server. */
export type FeatureVoice<T> = (state: ServerState, feature: FeatureState, index: number) => T;

/** Each daemon prints its own list. */
export function eachFeature<T>(state: ServerState, voice: FeatureVoice<T>): T[] {
  return state.spec.daemons.flatMap(({ name }) =>
    state.features.flatMap((feature, index) =>
      feature.spec.daemon === name ? [voice(state, feature, index)] : [],
    ),
  );
}

/** What all tools print alike. */
export function featureBase({ daemon, name, unit, pools }: FeatureSpec) {
  const unlimited = pools.some(({ seats }) => seats === null);
  const total = unlimited ? null : pools.reduce((sum, { seats }) => sum + (seats ?? 0), 0);
  const counted = { total, unlimited, error: null, consistency: "ok", cut: false } as const;
  return { daemon, name, ...(unit !== "seats" && { unit }), ...counted };
}

export function clientBase({ pools }: FeatureSpec, { actor: { user, host }, count }: Request, pool: number) {
  return { user, host, qualifier: null, version: pools[pool]?.version ?? null, count };
}

export function poolReading(
  { zone, instant }: ServerState,
  pool: PoolSpec,
  used: number | null,
): PoolReading {
  const { version, vendorString, seats, expires } = pool;
  return {
    number: null,
    version,
    vendorString,
    kind: seats === null ? "uncounted" : "floating",
    total: seats,
    used,
    unlimited: seats === null,
    expiry: expiryOf(expires, zone, instant),
  };
}

/** Seats of checkouts, of all pools or of one. */
export function heldOf(grants: readonly Grant[], only?: number): number {
  const held = grants.filter(({ pool }) => only === undefined || pool === only);
  return held.reduce((sum, { request }) => sum + request.count, 0);
}

/** A checkout's handle: unique on its server for months, and the same as long as the seat is held. */
export function handleOf({ spec }: ServerState, feature: number, request: Request): number {
  return 100 + (request.week % 16) * 40_000 + request.ordinal * spec.features.length + feature;
}

/** An error in a tool's words that say that no answer came. */
export function unreachable(message: string): ToolError {
  return { message, major: null, minor: null, system: null, kind: "unreachable" };
}
