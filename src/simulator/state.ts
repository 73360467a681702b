import type { Week } from "./calendar.ts";
import type { Request } from "./demand.ts";
import type { Grant, Wait } from "./seats.ts";
import type { FeatureSpec, MemberSpec, ServerSpec } from "./server-spec.ts";

/** A feature's life at one instant. */
export interface FeatureState {
  readonly spec: FeatureSpec;
  readonly grants: readonly Grant[];
  readonly waits: readonly Wait[];
  /** Of each of the spec's kept groups, the seats that nobody of them holds. */
  readonly idleKept: readonly number[];
}

/** Everything of a server at one instant that a manager's reading is made of. */
export interface ServerState {
  readonly seed: number;
  readonly zone: string;
  readonly instant: number;
  readonly week: Week;
  readonly spec: ServerSpec;
  readonly members: readonly MemberSpec[];
  readonly features: readonly FeatureState[];
  /** Nobody answers just now. */
  readonly silent: boolean;
  /** Grants and denials of a daemon since the server's last start. */
  totals(daemon: string): { readonly checkouts: number; readonly denials: number };
}

/** A checkout's handle: unique on its server for months, and the same as long as the seat is held. */
export function handleOf({ spec }: ServerState, feature: number, request: Request): number {
  return 100 + (request.week % 16) * 40_000 + request.ordinal * spec.features.length + feature;
}
