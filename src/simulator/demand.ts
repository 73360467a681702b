import { DAY, HOUR, MINUTE, type Week, weekOf } from "./calendar.ts";
import { type Actor, computeNode, type Person, type StaffSpec } from "./people.ts";
import { draws } from "./random.ts";

/** How a feature is used. */
export interface UseSpec {
  /** Part of the staff that works with it on a usual day, 0–1. */
  readonly share: number;
  /** Times a day that one of them opens it. */
  readonly sessions: readonly [min: number, max: number];
  readonly minutes: readonly [min: number, max: number];
  /** Jobs that start in the evening and hold several seats into the night, on weekends too. */
  readonly batch?: {
    readonly jobs: readonly [min: number, max: number];
    readonly seats: readonly [min: number, max: number];
    readonly hours: readonly [min: number, max: number];
  };
  /** Seats that somebody holds over days or weeks. */
  readonly long?: number;
  /** Those long ones are borrowed: taken offline until a set time. */
  readonly borrow?: boolean;
}

/** A wish for seats. Times are epoch ms. */
export interface Request {
  readonly actor: Actor;
  /** Unique within the feature and the week of {@link Request.askedAt}. */
  readonly ordinal: number;
  /** Number of the week in which it was made. */
  readonly week: number;
  readonly askedAt: number;
  readonly wantedMs: number;
  /** Given back by then, however late it was granted. */
  readonly latestEnd: number;
  readonly count: number;
  /** How long the actor waits (or tries again) when there is no seat. */
  readonly patienceMs: number;
  readonly borrowed: boolean;
}

export interface DemandContext {
  readonly seed: number;
  /** IANA zone of the site. */
  readonly zone: string;
  readonly server: string;
  readonly feature: string;
  readonly staff: readonly Person[];
  readonly staffSpec: StaffSpec;
  /** The server is started anew with every block of weeks: nothing is held across. */
  readonly restarts: boolean;
}

/** Part of the people who are ill, away or in meetings all day. */
const ABSENT = 0.12;
const SATURDAY_WORK = 0.04;
/** Part of the sessions that stay open over lunch, and over night. */
const KEPT_OVER_LUNCH = 0.5;
const FORGOTTEN = 0.015;
/** Every long hold lies within one block of this many weeks. */
export const LONG_BLOCK_WEEKS = 4;

/** Everything that is asked of one feature in one week, in the order of time. */
export function demandOf(context: DemandContext, use: UseSpec, week: Week): readonly Request[] {
  const requests: Omit<Request, "ordinal">[] = [];
  for (const [day, midnight] of week.midnights.entries()) {
    for (const person of context.staff) requests.push(...workOf(context, use, week, day, midnight, person));
    requests.push(...jobsOf(context, use, week, day, midnight));
  }
  const held = longHoldsOf(context, use, week);
  requests.sort((a, b) => a.askedAt - b.askedAt);
  const taken = use.long ?? 0;
  held.sort((a, b) => a.askedAt - b.askedAt);
  return [...held, ...requests.map((request, index) => ({ ...request, ordinal: taken + index }))];
}

function workOf(
  { seed, server, feature }: DemandContext,
  use: UseSpec,
  week: Week,
  day: number,
  midnight: number,
  person: Person,
): Omit<Request, "ordinal">[] {
  // Whether somebody is in the office does not depend on the feature.
  const presence = draws(seed, server, person.key, week.index, day);
  if (day === 6 || presence.chance(day === 5 ? 1 - SATURDAY_WORK : ABSENT)) return [];
  const early = presence.between(-20, 20) * MINUTE;
  const arrives = midnight + person.arrives + early;
  const leaves =
    midnight + (day === 5 ? 14 * HOUR : person.leaves + early + presence.between(-30, 40) * MINUTE);
  const lunch = midnight + person.lunchAt;

  const draw = draws(seed, server, feature, person.key, week.index, day);
  if (!draw.chance(use.share)) return [];
  const sessions = draw.integer(...use.sessions);
  const spans: Omit<Request, "ordinal">[] = [];
  for (let part = 0; part < sessions; part++) {
    // Each session in its own part of the day, so that one person's sessions do not pile up.
    const partMs = (leaves - arrives) / sessions;
    let askedAt = arrives + partMs * part + draw.between(0, partMs * 0.6);
    if (askedAt >= lunch && askedAt < lunch + person.lunchMs) askedAt += person.lunchMs;
    let latestEnd = part + 1 < sessions ? arrives + partMs * (part + 1) : leaves;
    const wantedMs = draw.between(...use.minutes) * MINUTE;
    if (askedAt < lunch && !draw.chance(KEPT_OVER_LUNCH)) latestEnd = Math.min(latestEnd, lunch);
    const forgotten = part + 1 === sessions && draw.chance(FORGOTTEN);
    if (forgotten) latestEnd = midnight + DAY + draw.between(7, 9) * HOUR;
    if (latestEnd - askedAt < 5 * MINUTE) continue;
    spans.push({
      actor: person,
      week: week.index,
      askedAt,
      wantedMs: forgotten ? DAY : wantedMs,
      latestEnd,
      count: 1,
      patienceMs: draw.between(5, 75) * MINUTE,
      borrowed: false,
    });
  }
  return spans;
}

function jobsOf(
  { seed, server, feature, staff, staffSpec }: DemandContext,
  { batch }: UseSpec,
  week: Week,
  day: number,
  midnight: number,
): Omit<Request, "ordinal">[] {
  const owners = nonEmpty(staff);
  if (batch === undefined || owners === null) return [];
  const draw = draws(seed, server, feature, "batch", week.index, day);
  return Array.from({ length: draw.integer(...batch.jobs) }, () => {
    const owner = draw.pick(owners);
    const askedAt = midnight + draw.between(18.5, 22.5) * HOUR;
    return {
      actor: { user: owner.user, group: owner.group, ...computeNode(staffSpec, draw.integer(1, 240)) },
      week: week.index,
      askedAt,
      wantedMs: draw.between(...batch.hours) * HOUR,
      // Before the people come, and (on Sundays) before the week ends.
      latestEnd: Math.min(midnight + DAY + 6 * HOUR, week.endsAt - 30 * MINUTE),
      count: draw.integer(...batch.seats),
      patienceMs: draw.between(30, 120) * MINUTE,
      borrowed: false,
    };
  });
}

/** Long holds that touch a week. They begin on a Monday before anybody is there, so that there is a seat for them. */
function longHoldsOf(
  { seed, zone, server, feature, staff, restarts }: DemandContext,
  use: UseSpec,
  week: Week,
): Request[] {
  const owners = nonEmpty(staff);
  if (owners === null) return [];
  const holds: Request[] = [];
  for (let slot = 0; slot < (use.long ?? 0); slot++) {
    // Slots change hands in different weeks.
    const shift = restarts ? 0 : slot % LONG_BLOCK_WEEKS;
    const block = Math.floor((week.index - shift) / LONG_BLOCK_WEEKS);
    const draw = draws(seed, server, feature, "long", slot, block);
    // Most begin with the block, so that there is hardly a week without.
    const blockWeek = block * LONG_BLOCK_WEEKS + shift;
    const startWeek = blockWeek + Math.floor(draw.next() ** 2 * (LONG_BLOCK_WEEKS - 1));
    const holder = draw.pick(owners);
    if (startWeek > week.index) continue;
    const askedAt = weekOf(zone, startWeek).startsAt + draw.between(20, 80) * MINUTE;
    const longest = blockWeek + LONG_BLOCK_WEEKS - startWeek;
    const wantedMs = draw.between(4, longest * 7 - 1) * DAY;
    if (askedAt + wantedMs <= week.startsAt) continue;
    holds.push({
      actor: holder,
      ordinal: slot,
      week: startWeek,
      askedAt,
      wantedMs,
      latestEnd: askedAt + wantedMs,
      count: 1,
      patienceMs: 0,
      borrowed: use.borrow === true,
    });
  }
  return holds;
}

function nonEmpty<T>(list: readonly T[]): readonly [T, ...T[]] | null {
  const [first, ...rest] = list;
  return first === undefined ? null : [first, ...rest];
}
