import type { Reading } from "../domain/reading.ts";
import { MINUTE_MS } from "../domain/time/clock.ts";
import { managerOf } from "../managers/registry.ts";
import type {
  ReadingParts,
  SimulatedCheckout,
  SimulatedClient,
  SimulatedFeature,
  SimulatedMember,
  SimulatedServer,
} from "../managers/simulated-tool.ts";
import { type SiteClock, type Week, weekAt } from "./calendar.ts";
import { type Assignment, assignmentsOf, demandOf, type Request, type Staff, staffOf } from "./demand.ts";
import { hash } from "./random.ts";
import { type Grant, type Schedule, seat } from "./seats.ts";
import { expiryOf, type FeatureSpec, type ServerSpec } from "./spec.ts";

/**
 * Maximum number of cached schedules, one per week and feature. The cache makes a series of instants cost
 * little more than one instant.
 */
const MAX_CACHED = 500;

export interface SiteOptions extends Partial<SiteClock> {
  readonly seed: number;
  /** IANA time zone. If the zone is unknown, later calls throw RangeError. */
  readonly zone: string;
}

export type Site = ReturnType<typeof createSite>;

/** Simulates a site. A reading is a pure function of seed and time; weeks are simulated on first use. */
export function createSite({ seed, zone, ahead = 0 }: SiteOptions) {
  const clock: SiteClock = { zone, ahead };
  const staffs = new Map<string, Staff>();
  const schedules = new Map<string, Schedule>();

  const play = (server: ServerSpec, feature: FeatureSpec, week: Week): Schedule => {
    const key = `${server.id}\n${feature.daemon}\n${feature.name}\n${week.index}`;
    if (schedules.size >= MAX_CACHED) schedules.clear();
    return schedules.getOrInsertComputed(key, () => playOnce(server, feature, week));
  };

  const contextOf = (server: ServerSpec, feature: FeatureSpec, week: Week) => {
    const staff = staffs.getOrInsertComputed(server.id, () => staffOf(seed, server.id, server.staff));
    return { seed, clock, server, feature, staff, week };
  };

  /** Features of one group share their seats, so their requests are simulated together. */
  const playOnce = (server: ServerSpec, feature: FeatureSpec, week: Week): Schedule => {
    const { kept, seatGroup } = feature;
    const group = server.features.filter(
      (one) => one === feature || (seatGroup !== null && one.seatGroup === seatGroup),
    );
    const owners = new Map<Request, FeatureSpec>();
    for (const one of group)
      for (const request of demandOf(contextOf(server, one, week))) owners.set(request, one);
    const all = seat([...owners.keys()], {
      pools: (group[0] ?? feature).pools.map((pool) => pool.seats),
      kept: kept && { seats: kept.seats, isFor: (actor) => actor[kept.type] === kept.name },
      whenFull: server.queues && !feature.deny ? "queue" : "deny",
    });
    const isOwn = ({ request }: { readonly request: Request }) => owners.get(request) === feature;
    return {
      grants: all.grants.filter(isOwn),
      waits: all.waits.filter(isOwn),
      denials: all.denials.filter(isOwn),
    };
  };

  /** Counters of a server since its start (RLM). The server restarts at the start of each week. */
  const totals = (server: ServerSpec, week: Week, instant: number, daemon: string) => {
    const played = server.features
      .filter((feature) => feature.daemon === daemon)
      .map((feature) => play(server, feature, week));
    const checkouts = played.flatMap(({ grants }) => grants.filter(({ startedAt }) => startedAt <= instant));
    const denials = played.flatMap((feature) => feature.denials.filter(({ at }) => at <= instant));
    return { checkouts: checkouts.length, denials: denials.length };
  };

  return {
    seed,
    clock,
    schedule: (server: ServerSpec, feature: FeatureSpec, instant: number) =>
      play(server, feature, weekAt(clock, instant)),
    /** `members` are the hosts as queried; the server answers with these names. */
    reading(
      server: ServerSpec,
      instant: number,
      members: readonly SimulatedMember[] = server.members,
    ): Reading {
      const week = weekAt(clock, instant);
      const silent = isSilent(seed, server, instant);
      const played = (feature: FeatureSpec) => ({
        schedule: play(server, feature, week),
        assignments: assignmentsOf(contextOf(server, feature, week)),
      });
      return readingOf(server.manager, {
        zone,
        instant,
        version: server.version,
        silent,
        printsPids: server.pids,
        members,
        daemons: server.daemons,
        features: silent ? [] : featureStates(seed, zone, instant, server, played),
        totals: (daemon) => totals(server, week, instant, daemon),
      });
    },
  };
}

/** Reports whether a server is silent at an instant. A server is silent in the same minutes of every hour. */
export function isSilent(seed: number, server: ServerSpec, instant: number): boolean {
  if (server.silentMinutes === 0) return false;
  const begins = hash(seed, server.id, "silent") % (60 - server.silentMinutes);
  const minute = Math.floor(instant / MINUTE_MS) % 60;
  return minute >= begins && minute < begins + server.silentMinutes;
}

/** Builds the reading of a complete text. */
export function wholeReading(parts: ReadingParts & Pick<Reading, "manager">): Reading {
  return { errors: [], ...parts, unparsedLines: 0, unparsed: [], cut: false, recognised: true };
}

function readingOf(manager: string, state: SimulatedServer): Reading {
  const { simulatedTool } = managerOf(manager);
  if (simulatedTool === null) throw new Error(`the tool of ${manager} cannot be simulated`);
  return wholeReading({ manager, ...simulatedTool.reading(state) });
}

function featureStates(
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
