import type { Expiry, FeatureReading, PoolReading, Reading, ToolError } from "../domain/reading.ts";
import { MINUTE_MS } from "../domain/time/clock.ts";
import { fromWallClock, wallClock } from "../domain/time/zone.ts";
import type { Unit } from "../domain/words.ts";
import { sumOfCounts } from "./reading-parts.ts";

export interface SimulatedTool {
  reading(server: SimulatedServer): ReadingParts;
  readsStdin?(args: readonly string[]): boolean;
  /** `args` does not include the path of the tool. */
  answer(args: readonly string[], stdin: string, server: ToolTarget): ToolAnswer;
}

export interface ToolTarget {
  readonly address: string;
  readonly version: string;
  readonly zone: string;
  readonly members: readonly TargetMember[];
  reading(members: readonly TargetMember[]): Reading;
}

export interface TargetMember {
  readonly host: string;
  readonly port: number;
}

export interface ToolAnswer {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/** A license server at one instant. */
export interface SimulatedServer {
  readonly zone: string;
  readonly instant: number;
  readonly version: string;
  readonly silent: boolean;
  readonly printsPids: boolean;
  readonly members: readonly SimulatedMember[];
  readonly daemons: readonly { readonly name: string; readonly version: string }[];
  readonly features: readonly SimulatedFeature[];
  /** Checkouts and denials of a daemon since the server's last start. */
  totals(daemon: string): { readonly checkouts: number; readonly denials: number };
}

export interface SimulatedMember {
  readonly host: string;
  readonly port: number;
  readonly master: boolean;
  readonly down: boolean;
}

export interface SimulatedFeature {
  readonly daemon: string;
  readonly name: string;
  readonly unit: Unit;
  readonly seatGroup: string | null;
  readonly pools: readonly SimulatedPool[];
  readonly checkouts: readonly SimulatedCheckout[];
  readonly queue: readonly SimulatedClient[];
  readonly assigned:
    | readonly { readonly user: string; readonly host: string; readonly since: number }[]
    | null;
  /** `idle`: reserved seats that are not in use. */
  readonly reserved: {
    readonly type: "user" | "group";
    readonly name: string;
    readonly seats: number;
    readonly idle: number;
  } | null;
}

export interface SimulatedPool {
  readonly version: string;
  readonly vendorString: string | null;
  /** Number of seats; null = uncounted. */
  readonly seats: number | null;
  readonly expiry: Expiry;
}

export interface SimulatedClient {
  readonly user: string;
  readonly host: string;
  readonly ipAddress: string;
  readonly isWindows: boolean;
  readonly display: string;
  readonly count: number;
  /** Unique on the server for months, and constant while the seat is held. */
  readonly handle: number;
  readonly pid: number;
  readonly borrowed: boolean;
}

export interface SimulatedCheckout extends SimulatedClient {
  readonly startedAt: number;
  readonly endsAt: number;
  readonly pool: number;
}

export type ReadingParts = Pick<
  Reading,
  "reportTime" | "toolVersion" | "members" | "daemons" | "features"
> & { readonly errors?: readonly ToolError[] };

/** Builds the features, grouped by daemon as tools print them. */
export function featuresByDaemon(
  server: SimulatedServer,
  featureOf: (server: SimulatedServer, feature: SimulatedFeature) => FeatureReading,
): FeatureReading[] {
  return server.daemons.flatMap(({ name }) =>
    server.features.filter(({ daemon }) => daemon === name).map((feature) => featureOf(server, feature)),
  );
}

/** Builds a feature that adds up. Few tools print reservations and queues. */
export function featureReading(
  { daemon, name, unit, pools }: SimulatedFeature,
  printed: Pick<FeatureReading, "used" | "pools" | "checkouts"> & Partial<FeatureReading>,
): FeatureReading {
  const unlimited = pools.some(({ seats }) => seats === null);
  return {
    daemon,
    name,
    ...(unit !== "seats" && { unit }),
    total: unlimited ? null : pools.reduce((sum, { seats }) => sum + (seats ?? 0), 0),
    unlimited,
    error: null,
    reservations: [],
    queue: [],
    consistency: "ok",
    cut: false,
    ...printed,
  };
}

export function poolBase(
  { version, vendorString, seats, expiry }: SimulatedPool,
  used: number | null,
): PoolReading {
  const unlimited = seats === null;
  const kind = unlimited ? "uncounted" : "floating";
  return { number: null, version, vendorString, kind, total: seats, used, unlimited, expiry };
}

/** Without `pool`, sums the seats of all pools. */
export function seatsOf(checkouts: readonly SimulatedCheckout[], pool?: number): number {
  return sumOfCounts(checkouts.filter((each) => pool === undefined || each.pool === pool));
}

/** Rounds down to the minute, as many tools print times. A repeated hour means its first occurrence. */
export function asPrinted(zone: string, instant: number): number {
  return fromWallClock(zone, Math.floor(wallClock(zone, instant) / MINUTE_MS) * MINUTE_MS);
}
