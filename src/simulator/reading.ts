import type { FeatureReading, PoolReading, Reading, ToolError } from "../domain/reading.ts";
import { asPrinted } from "./calendar.ts";
import type { Request } from "./demand.ts";
import { hash } from "./random.ts";
import type { Grant, Wait } from "./seats.ts";
import { expiryOf, type FeatureSpec, type MemberSpec, type PoolSpec, type ServerSpec } from "./servers.ts";

/** A feature's life at one instant. */
export interface FeatureState {
  readonly spec: FeatureSpec;
  readonly grants: readonly Grant[];
  readonly waits: readonly Wait[];
  /** Kept seats that are not held. */
  readonly idleKept: number;
}

/** Everything of a server at one instant that a manager's reading is made of. */
export interface ServerState {
  readonly seed: number;
  readonly zone: string;
  readonly instant: number;
  readonly spec: ServerSpec;
  readonly members: readonly MemberSpec[];
  readonly features: readonly FeatureState[];
  /** The server does not answer just now: a server of FlexNet, by lmstat's words. */
  readonly silent: boolean;
  /** Grants and denials of a daemon since the server's last start. */
  totals(daemon: string): { readonly checkouts: number; readonly denials: number };
}

/** rlm gives its ISV servers ports of the dynamic range. */
export const FIRST_ISV_PORT = 49_152;

/** A host that is switched off, as lmutil 11.x words it. */
const MEMBER_DOWN: ToolError = {
  message: 'Cannot connect to license server system. (-15,570:115 "Operation now in progress")',
  major: -15,
  minor: 570,
  system: 115,
  kind: "unreachable",
};

const REFUSED: ToolError = {
  ...MEMBER_DOWN,
  message:
    'Error getting status: Cannot connect to license server system. (-15,570:111 "Connection refused")',
  system: 111,
};

/** A reading without faults of its own: no unparsed lines, nothing cut. */
export function wholeReading(
  parts: Pick<Reading, "manager" | "reportTime" | "toolVersion" | "members" | "daemons" | "features"> & {
    readonly errors?: readonly ToolError[];
  },
): Reading {
  return { errors: [], ...parts, unparsedLines: 0, unparsed: [], cut: false, recognised: true };
}

/** What the manager's tool would say of a server in this state. */
export function readingOf(state: ServerState): Reading {
  const { spec, zone, instant, members } = state;
  const { manager, version, daemons } = spec;
  const isRlm = manager === "rlm";
  const head = {
    manager,
    // rlmstat's clock has seconds, lmstat's minutes.
    reportTime: isRlm ? Math.floor(instant / 1000) * 1000 : asPrinted(zone, instant),
    toolVersion: isRlm ? version : null,
  };
  if (state.silent)
    return wholeReading({ ...head, members: [], daemons: [], features: [], errors: [REFUSED] });
  return wholeReading({
    ...head,
    members: members.map(({ host, port, master, down }) =>
      down
        ? { host, port, status: "down", master: false, version: null, error: MEMBER_DOWN }
        : { host, port, status: "up", master: !isRlm && master, version, error: null },
    ),
    daemons: daemons.map(({ name, version }, index) => ({
      name,
      status: "up",
      version,
      error: null,
      totals: isRlm ? { ...state.totals(name), removals: 0 } : null,
      ...(isRlm && { port: FIRST_ISV_PORT + index }),
    })),
    // Each daemon prints its own list.
    features: daemons.flatMap(({ name }) =>
      state.features.flatMap((feature, index) => {
        if (feature.spec.daemon !== name) return [];
        return isRlm ? rlmFeature(state, feature, index) : flexnetFeature(state, feature, index);
      }),
    ),
  });
}

/** What both tools print alike. */
function featureBase({ daemon, name, pools }: FeatureSpec) {
  const unlimited = pools.some(({ seats }) => seats === null);
  const total = unlimited ? null : pools.reduce((sum, { seats }) => sum + (seats ?? 0), 0);
  return { daemon, name, total, unlimited, error: null, consistency: "ok", cut: false } as const;
}

function flexnetFeature(state: ServerState, feature: FeatureState, index: number): FeatureReading {
  const { seed, zone, instant, spec: server } = state;
  const { spec, grants, waits, idleKept: idle } = feature;
  const base = featureBase(spec);
  const client = (request: Request, pool: number) => {
    const handle = String(handleOf(state, index, request));
    return { ...clientBase(spec, request, pool), display: request.actor.display, handle, pool };
  };
  // lmstat prints no count of an uncounted feature.
  const counted = (used: number) => (base.unlimited ? null : used);
  return {
    ...base,
    used: counted(heldOf(grants) + idle),
    // Idle reservations stand under the first pool.
    pools: spec.pools.map((pool, at) =>
      poolReading(state, pool, counted(heldOf(grants, at) + (at === 0 ? idle : 0))),
    ),
    checkouts: grants
      .map(({ request, startedAt, endsAt, pool }) => {
        const seat = client(request, pool);
        return {
          ...seat,
          pid: server.pids ? 1000 + (hash(seed, server.id, "pid", seat.handle) % 4_000_000) : null,
          startedAt: asPrinted(zone, startedAt),
          lingerSeconds: request.borrowed ? Math.ceil((endsAt - instant) / 1000) : null,
          borrowed: request.borrowed,
        };
      })
      // They stand under their pools.
      .sort((a, b) => a.pool - b.pool || a.startedAt - b.startedAt),
    reservations:
      spec.kept !== null && idle > 0
        ? [{ type: spec.kept.type, name: spec.kept.name, count: idle, pool: 0 }]
        : [],
    queue: waits.map(({ request }) => client(request, 0)),
  };
}

function rlmFeature(state: ServerState, { spec, grants }: FeatureState, index: number): FeatureReading {
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

function clientBase({ pools }: FeatureSpec, { actor: { user, host }, count }: Request, pool: number) {
  return { user, host, qualifier: null, version: pools[pool]?.version ?? null, count };
}

function poolReading({ zone, instant }: ServerState, pool: PoolSpec, used: number | null): PoolReading {
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
function heldOf(grants: readonly Grant[], only?: number): number {
  const held = grants.filter(({ pool }) => only === undefined || pool === only);
  return held.reduce((sum, { request }) => sum + request.count, 0);
}

/** A checkout's handle: unique on its server for months, and the same as long as the seat is held. */
function handleOf({ spec }: ServerState, feature: number, request: Request): number {
  return 100 + (request.week % 16) * 40_000 + request.ordinal * spec.features.length + feature;
}
