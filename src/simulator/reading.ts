import type { Reading } from "../domain/reading.ts";
import { managerOf } from "../managers/registry.ts";
import type {
  ReadingParts,
  SimulatedCheckout,
  SimulatedClient,
  SimulatedFeature,
  SimulatedServer,
} from "../managers/simulated-tool.ts";
import type { Assignment, Request } from "./demand.ts";
import { hash } from "./random.ts";
import type { Grant, Schedule } from "./seats.ts";
import { expiryOf, type FeatureSpec, type ServerSpec } from "./spec.ts";

/** Builds a reading without unparsed lines, of a text that is not cut. */
export function wholeReading(parts: ReadingParts & Pick<Reading, "manager">): Reading {
  return { errors: [], ...parts, unparsedLines: 0, unparsed: [], cut: false, recognised: true };
}

/** Returns the reading that the manager's tool prints for this state. */
export function readingOf(manager: string, state: SimulatedServer): Reading {
  const { simulatedTool } = managerOf(manager);
  if (simulatedTool === null) throw new Error(`the tool of ${manager} cannot be simulated`);
  return wholeReading({ manager, ...simulatedTool.reading(state) });
}

/** Returns the state of a server's features, in the order of its spec, at an instant. */
export function featureStates(
  seed: number,
  zone: string,
  instant: number,
  server: ServerSpec,
  played: (feature: FeatureSpec) => {
    readonly schedule: Schedule;
    readonly assignments: readonly Assignment[] | null;
  },
): SimulatedFeature[] {
  return server.features.map((feature, index) => {
    const { schedule, assignments } = played(feature);
    const grants = schedule.grants.filter((grant) => grant.startedAt <= instant && instant < grant.endsAt);
    const waits = schedule.waits.filter((wait) => wait.from <= instant && instant < wait.to);
    const idle = (feature.kept?.seats ?? 0) - grants.reduce((sum, { fromKept }) => sum + fromKept, 0);
    const client = ({ request }: { readonly request: Request }) => clientOf(seed, server, index, request);
    return {
      daemon: feature.daemon,
      name: feature.name,
      unit: feature.unit,
      seatGroup: feature.seatGroup,
      pools: feature.pools.map(({ version, vendorString, seats, expires }) => {
        return { version, vendorString, seats, expiry: expiryOf(expires, zone, instant) };
      }),
      checkouts: grants.map((grant) => checkoutOf(client(grant), grant)),
      queue: waits.map(client),
      assigned: assignments?.map(({ person: { user, host }, since }) => ({ user, host, since })) ?? null,
      reserved: feature.kept && { ...feature.kept, idle },
    };
  });
}

function checkoutOf(client: SimulatedClient, { startedAt, endsAt, pool }: Grant): SimulatedCheckout {
  return { ...client, startedAt, endsAt, pool };
}

function clientOf(seed: number, server: ServerSpec, feature: number, request: Request): SimulatedClient {
  const { actor, count, borrowed, week, ordinal } = request;
  const { user, host, display } = actor;
  const handle = 100 + (week % 16) * 40_000 + ordinal * server.features.length + feature;
  return {
    user,
    host,
    ipAddress: addressOf(host),
    // Jobs run on compute nodes.
    isWindows: server.staff.windows && !host.startsWith("cn-"),
    display,
    count,
    handle,
    pid: 1000 + (hash(seed, server.id, "pid", String(handle)) % 4_000_000),
    borrowed,
  };
}

function addressOf(host: string): string {
  const bits = hash("address", host);
  return `10.23.${bits % 250}.${1 + ((bits >>> 8) % 250)}`;
}
