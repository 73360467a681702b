import type { Reading } from "../domain/reading.ts";
import { MINUTE_MS } from "../domain/time/clock.ts";
import { type SiteClock, type Week, weekAt } from "./calendar.ts";
import { assignmentsOf, demandOf, type Request, type Staff, staffOf } from "./demand.ts";
import { hash } from "./random.ts";
import { readingOf } from "./reading.ts";
import { type Schedule, seat } from "./seats.ts";
import type { FeatureSpec, MemberSpec, ServerSpec } from "./spec.ts";
import type { FeatureState } from "./state.ts";

/** Weeks × features kept in memory, so that a row of instants costs little more than one. */
const MAX_CACHED = 500;

export interface SiteOptions extends Partial<SiteClock> {
  readonly seed: number;
  /** IANA zone whose working hours the people keep. Throws RangeError later on when unknown. */
  readonly zone: string;
}

export type Site = ReturnType<typeof createSite>;

/**
 * The simulated site: what each license server would say at an instant, a pure function of seed and clock.
 * Nothing is stepped from a beginning; a week is played through when it is first looked at.
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

  /** Features of one group meet at the same seats: what is asked of all of them is played as one. */
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

  const featureAt = (server: ServerSpec, spec: FeatureSpec, week: Week, instant: number): FeatureState => {
    const { grants, waits } = play(server, spec, week);
    const held = grants.filter((grant) => grant.startedAt <= instant && instant < grant.endsAt);
    return {
      spec,
      grants: held,
      waits: waits.filter((wait) => wait.from <= instant && instant < wait.to),
      assignments: assignmentsOf(contextOf(server, spec, week)),
      idleKept: (spec.kept?.seats ?? 0) - held.reduce((sum, { fromKept }) => sum + fromKept, 0),
    };
  };

  /** Of a server that counts since its start (RLM): it is restarted when a week begins. */
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
    /** What becomes of the requests for a feature in the week of an instant. */
    schedule: (server: ServerSpec, feature: FeatureSpec, instant: number) =>
      play(server, feature, weekAt(clock, instant)),
    /** `members` are the hosts asked; the server answers under the names by which it was called. */
    reading(server: ServerSpec, instant: number, members: readonly MemberSpec[] = server.members): Reading {
      const week = weekAt(clock, instant);
      const silent = isSilent(seed, server, instant);
      return readingOf({
        seed,
        zone,
        instant,
        spec: server,
        members,
        silent,
        features: silent ? [] : server.features.map((spec) => featureAt(server, spec, week, instant)),
        totals: (daemon) => totals(server, week, instant, daemon),
      });
    },
  };
}

/** The minutes of silence stand at the same place in every hour; the seed says where. */
export function isSilent(seed: number, server: ServerSpec, instant: number): boolean {
  if (server.silentMinutes === 0) return false;
  const begins = hash(seed, server.id, "silent") % (60 - server.silentMinutes);
  const minute = Math.floor(instant / MINUTE_MS) % 60;
  return minute >= begins && minute < begins + server.silentMinutes;
}
