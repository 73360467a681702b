import type { FeatureReading, MemberReading, ToolError } from "../domain/reading.ts";
import { asPrinted } from "./calendar.ts";
import type { Request } from "./demand.ts";
import { hash } from "./random.ts";
import type { MemberSpec } from "./spec.ts";
import {
  clientBase,
  eachFeature,
  type FeatureState,
  featureBase,
  handleOf,
  heldOf,
  poolReading,
  type ServerState,
} from "./state.ts";

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

/** lmstat of FlexNet: its clock has minutes. */
export function flexnetVoice(state: ServerState) {
  const { spec, zone, instant, members } = state;
  const head = { reportTime: asPrinted(zone, instant), toolVersion: null };
  if (state.silent) return { ...head, members: [], daemons: [], features: [], errors: [REFUSED] };
  return {
    ...head,
    members: members.map((member) => memberOf(member, spec.version)),
    daemons: spec.daemons.map(({ name, version }) => {
      return { name, status: "up" as const, version, error: null, totals: null };
    }),
    features: eachFeature(state, featureOf),
  };
}

function memberOf({ host, port, master, down }: MemberSpec, version: string): MemberReading {
  return down
    ? { host, port, status: "down", master: false, version: null, error: MEMBER_DOWN }
    : { host, port, status: "up", master, version, error: null };
}

function featureOf(state: ServerState, feature: FeatureState, index: number): FeatureReading {
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
