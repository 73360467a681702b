import type { Reading } from "../domain/reading.ts";
import { MINUTE_MS } from "../domain/time/clock.ts";
import type { SimulatedMember } from "../managers/simulated-tool.ts";
import { type SiteClock, type Week, weekAt } from "./calendar.ts";
import { assignmentsOf, demandOf, type Request, type Staff, staffOf } from "./demand.ts";
import { hash } from "./random.ts";
import { featureStates, readingOf } from "./reading.ts";
import { type Schedule, seat } from "./seats.ts";
import type { FeatureSpec, ServerSpec } from "./spec.ts";

/** Maximum number of cached weeks × features, so that a series of instants costs little more than one. */
const MAX_CACHED = 500;

export interface SiteOptions extends Partial<SiteClock> {
  readonly seed: number;
  /** IANA zone of the staff's working hours. An unknown zone throws RangeError later. */
  readonly zone: string;
}

export type Site = ReturnType<typeof createSite>;

/**
 * The simulated site: returns the reading of each license server at an instant, as a pure function of seed and time.
 * Nothing runs continuously; a week is simulated when it is first requested.
 */
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

  /** Counters of a server since its start (RLM); it restarts at the start of each week. */
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
    /** Returns the schedule of a feature in the week of an instant. */
    schedule: (server: ServerSpec, feature: FeatureSpec, instant: number) =>
      play(server, feature, weekAt(clock, instant)),
    /**
     * Returns a server's reading. `members` are the hosts as queried; the server answers with these names.
     */
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

/** Reports whether the server is silent: at the same minutes of every hour, derived from the seed. */
export function isSilent(seed: number, server: ServerSpec, instant: number): boolean {
  if (server.silentMinutes === 0) return false;
  const begins = hash(seed, server.id, "silent") % (60 - server.silentMinutes);
  const minute = Math.floor(instant / MINUTE_MS) % 60;
  return minute >= begins && minute < begins + server.silentMinutes;
}
