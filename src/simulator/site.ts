import type { Reading } from "../domain/reading.ts";
import { MINUTE, type Week, weekAt, weekOf } from "./calendar.ts";
import { demandOf, LONG_BLOCK_WEEKS } from "./demand.ts";
import { flexnetReading } from "./flexnet-reading.ts";
import { type Person, staffOf } from "./people.ts";
import { hash } from "./random.ts";
import { rlmReading } from "./rlm-reading.ts";
import { type Schedule, seat } from "./seats.ts";
import type { FeatureSpec, MemberSpec, ServerSpec } from "./server-spec.ts";
import type { FeatureState, ServerState } from "./state.ts";

/** Weeks × features kept in memory, so that a row of instants costs little more than one. */
const MAX_CACHED = 500;

export interface SiteOptions {
  readonly seed: number;
  /** IANA zone whose working hours the people keep. Throws RangeError later on when unknown. */
  readonly zone: string;
}

/**
 * The make-believe site: what each license server would say at an instant, a pure function of seed and clock.
 * Nothing is stepped from a beginning; a week is played through when it is first looked at.
 */
export interface Site {
  readonly zone: string;
  /** `members` are the hosts asked; the server answers under the names by which it was called. */
  reading(server: ServerSpec, instant: number, members?: readonly MemberSpec[]): Reading;
  /** What becomes of the requests for a feature in the week of an instant. */
  schedule(server: ServerSpec, feature: FeatureSpec, instant: number): Schedule;
}

export function createSite({ seed, zone }: SiteOptions): Site {
  const staffs = new Map<string, readonly Person[]>();
  const schedules = new Map<string, Schedule>();

  const staff = (server: ServerSpec) => {
    const people = staffs.get(server.id) ?? staffOf(seed, server.id, server.staff);
    staffs.set(server.id, people);
    return people;
  };

  const play = (server: ServerSpec, feature: FeatureSpec, week: Week): Schedule => {
    const key = `${server.id}\n${feature.daemon}\n${feature.name}\n${week.index}`;
    const known = schedules.get(key);
    if (known !== undefined) return known;
    const context = {
      seed,
      zone,
      server: server.id,
      feature: `${feature.daemon}:${feature.name}`,
      staff: staff(server),
      staffSpec: server.staff,
      restarts: server.manager === "rlm",
    };
    const played = seat(feature.use === null ? [] : demandOf(context, feature.use, week), {
      pools: feature.pools.map((pool) => pool.seats),
      kept: feature.kept.map(({ type, name, seats }) => ({
        pool: 0,
        seats,
        isFor: (actor) => actor[type] === name,
      })),
      whenFull: server.manager === "rlm" || feature.deny === true ? "deny" : "queue",
    });
    if (schedules.size >= MAX_CACHED) schedules.clear();
    schedules.set(key, played);
    return played;
  };

  const featureAt = (server: ServerSpec, spec: FeatureSpec, week: Week, instant: number): FeatureState => {
    const { grants, waits } = play(server, spec, week);
    const held = grants.filter((grant) => grant.startedAt <= instant && instant < grant.endsAt);
    return {
      spec,
      grants: held,
      waits: waits.filter((wait) => wait.from <= instant && instant < wait.to),
      idleKept: spec.kept.map((kept, index) =>
        held.reduce(
          (left, { fromKept }) => (fromKept?.kept === index ? left - fromKept.seats : left),
          kept.seats,
        ),
      ),
    };
  };

  const totals = (server: ServerSpec, week: Week, instant: number, daemon: string) => {
    let checkouts = 0;
    let denials = 0;
    for (let index = startWeekOf(week); index <= week.index; index++) {
      const then = index === week.index ? week : weekOf(zone, index);
      for (const feature of server.features) {
        if (feature.daemon !== daemon) continue;
        const schedule = play(server, feature, then);
        // A seat held since an earlier week was counted there.
        for (const { request, startedAt } of schedule.grants) {
          if (request.week === index && startedAt <= instant) checkouts++;
        }
        for (const { at } of schedule.denials) if (at <= instant) denials++;
      }
    }
    return { checkouts, denials };
  };

  return {
    zone,
    schedule: (server, feature, instant) => play(server, feature, weekAt(zone, instant)),
    reading(server, instant, members = server.members) {
      const week = weekAt(zone, instant);
      const silent = isSilent(seed, server, instant);
      const state: ServerState = {
        seed,
        zone,
        instant,
        week,
        spec: server,
        members,
        silent,
        features: silent ? [] : server.features.map((spec) => featureAt(server, spec, week, instant)),
        totals: (daemon) => totals(server, week, instant, daemon),
      };
      return server.manager === "rlm" ? rlmReading(state) : flexnetReading(state);
    },
  };
}

/** The week at whose beginning a server that counts since its start (RLM) was last started. */
export function startWeekOf(week: Week): number {
  return Math.floor(week.index / LONG_BLOCK_WEEKS) * LONG_BLOCK_WEEKS;
}

/** The minutes of silence stand at the same place in every hour; the seed says where. */
export function isSilent(seed: number, server: ServerSpec, instant: number): boolean {
  if (server.silentMinutes === 0) return false;
  const begins = hash(seed, server.id, "silent") % (60 - server.silentMinutes);
  const minute = Math.floor(instant / MINUTE) % 60;
  return minute >= begins && minute < begins + server.silentMinutes;
}
