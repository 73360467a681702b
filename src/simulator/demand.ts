import { DAY_MS, HOUR_MS, MINUTE_MS } from "../domain/time/clock.ts";
import { type SiteClock, type Week, weekOf } from "./calendar.ts";
import { draws, hash } from "./random.ts";
import type { FeatureSpec, ServerSpec, StaffSpec, UseSpec } from "./spec.ts";

/** A person at a workstation, or a batch account on a compute node. */
export interface Actor {
  readonly user: string;
  readonly host: string;
  readonly display: string;
  /** Department, for reservations. */
  readonly group: string;
}

/** Times of day are ms after midnight. */
interface Person extends Actor {
  readonly arrives: number;
  readonly leaves: number;
}

export type Staff = readonly [Person, ...Person[]];

export interface Request {
  readonly actor: Actor;
  /** Number of the request, unique within the feature and the week. */
  readonly ordinal: number;
  readonly week: number;
  readonly askedAt: number;
  readonly wantedMs: number;
  /** Latest time of the check-in, even if the seats were granted late. */
  readonly latestEnd: number;
  readonly count: number;
  /** Maximum time for which the actor waits or retries without a seat. */
  readonly patienceMs: number;
  readonly borrowed: boolean;
}

interface DemandContext {
  readonly seed: number;
  readonly clock: SiteClock;
  readonly server: ServerSpec;
  readonly feature: FeatureSpec;
  readonly staff: Staff;
  readonly week: Week;
}

const ABSENT = 0.12;
const SATURDAY_WORK = 0.04;
/** Share of days with a session that is left open overnight. */
const FORGOTTEN = 0.015;
/** Length of a block in weeks; each long checkout lies within one block. */
const LONG_BLOCK_WEEKS = 4;

const FIRST =
  "anna ben carla david elena farid greta hugo ines jonas kira luis mara nils olga paul qiang rosa sven tara umar vera wei yusuf zoe".split(
    " ",
  ) as [string, ...string[]];
const LAST =
  "adler baker costa dimitrov eriksen fischer garcia huang ivanova jansen kovacs lindberg moreau nakamura okafor petrov quinn rossi schmidt tanaka urban vogel weber xu yilmaz zimmer".split(
    " ",
  ) as [string, ...string[]];

/** User names are unique within the staff. */
export function staffOf(seed: number, server: string, spec: StaffSpec): Staff {
  const taken = new Set<string>();
  return Array.from({ length: spec.people }, (_, index): Person => {
    const draw = draws(seed, server, "person", index);
    const [first, last] = [draw.pick(FIRST), draw.pick(LAST)];
    const number = String(index + 1).padStart(3, "0");
    const user =
      [`${first.charAt(0)}${last}`, `${first}.${last}`].find((name) => !taken.has(name)) ??
      `${first}.${last}${index + 1}`;
    taken.add(user);
    const host = spec.windows ? `PC-${spec.site.toUpperCase()}-${number}` : `ws-${spec.site}-${number}`;
    return {
      user,
      host,
      display: spec.windows ? host : draw.pick([":0", ":0.0", ":1", `${host}:10.0`, "/dev/pts/1"]),
      group: draw.pick(spec.groups),
      arrives: draw.between(7, 9.5) * HOUR_MS,
      leaves: draw.between(16, 18.75) * HOUR_MS,
    };
  }) as [Person, ...Person[]];
}

export interface Assignment {
  readonly person: Person;
  readonly since: number;
}

/** Number of weeks after which named licenses are reassigned, which limits their age. */
const ASSIGNED_WEEKS = 60;

/** Returns the named users of a feature; null if seats are not assigned. */
export function assignmentsOf(context: DemandContext): readonly Assignment[] | null {
  const { seed, clock, server, feature, staff, week } = context;
  if (feature.assigned === null) return null;
  const rank = ({ user }: Actor) => hash(seed, server.id, keyOf(feature), "assigned", user);
  const people = staff.toSorted((a, b) => rank(a) - rank(b)).slice(0, feature.assigned);
  return people.map((person) => {
    const draw = draws(seed, server.id, keyOf(feature), "since", person.user);
    const shift = draw.integer(1, ASSIGNED_WEEKS);
    const given = Math.floor((week.index - shift) / ASSIGNED_WEEKS) * ASSIGNED_WEEKS + shift - 1;
    const [monday = 0] = weekOf(clock, given).midnights;
    return { person, since: Math.floor((monday + draw.between(9, 16) * HOUR_MS) / 1000) * 1000 };
  });
}

type Wish = Omit<Request, "ordinal">;

export function demandOf(context: DemandContext): readonly Request[] {
  const { week } = context;
  const staff = assignmentsOf(context)?.map(({ person }) => person) ?? context.staff;
  const { use } = context.feature;
  if (use === null) return [];
  const requests = week.midnights.flatMap((midnight, day) => [
    ...staff.flatMap((person) => workOf(context, use, day, midnight, person)),
    ...jobsOf(context, use, day, midnight),
  ]);
  requests.sort((a, b) => a.askedAt - b.askedAt);
  const held = longHoldsOf(context, use).sort((a, b) => a.askedAt - b.askedAt);
  return [...held, ...requests.map((request, index) => ({ ...request, ordinal: (use.long ?? 0) + index }))];
}

/** Draws the sessions of a person on a day, which do not overlap. */
function workOf(
  { seed, server, feature, week }: DemandContext,
  use: UseSpec,
  day: number,
  midnight: number,
  person: Person,
): Wish[] {
  // Do not use the feature as a key here, because a person's presence does not depend on the feature.
  const presence = draws(seed, server.id, person.user, week.index, day);
  if (day === 6 || presence.chance(day === 5 ? 1 - SATURDAY_WORK : ABSENT)) return [];
  const draw = draws(seed, server.id, keyOf(feature), person.user, week.index, day);
  if (!draw.chance(use.share)) return [];
  const late = presence.between(-30, 40) * MINUTE_MS;
  const leaves = day === 5 ? 14 * HOUR_MS : person.leaves + late;
  const sessions = draw.integer(...use.sessions);
  const partMs = (leaves - person.arrives) / sessions;
  return Array.from({ length: sessions }, (_, part) => {
    const begins = midnight + person.arrives + partMs * part;
    const isForgotten = part + 1 === sessions && draw.chance(FORGOTTEN);
    return {
      actor: person,
      week: week.index,
      askedAt: begins + draw.between(0, partMs * 0.6),
      wantedMs: isForgotten ? DAY_MS : draw.between(...use.minutes) * MINUTE_MS,
      latestEnd: isForgotten ? midnight + DAY_MS + draw.between(7, 9) * HOUR_MS : begins + partMs,
      count: use.each ?? 1,
      patienceMs: draw.between(5, 75) * MINUTE_MS,
      borrowed: false,
    };
  });
}

/** Draws the batch jobs of a day, which start in the evening and hold several seats into the night. */
function jobsOf(context: DemandContext, { batch }: UseSpec, day: number, midnight: number): Wish[] {
  const { seed, server, feature, staff, week } = context;
  if (batch === undefined) return [];
  const draw = draws(seed, server.id, keyOf(feature), "batch", week.index, day);
  return Array.from({ length: draw.integer(...batch.jobs) }, () => {
    const { user, group } = draw.pick(staff);
    const host = `cn-${server.staff.site}-${String(draw.integer(1, 240)).padStart(4, "0")}`;
    return {
      actor: { user, group, host, display: "/dev/tty" },
      week: week.index,
      askedAt: midnight + draw.between(18.5, 22.5) * HOUR_MS,
      wantedMs: draw.between(...batch.hours) * HOUR_MS,
      // Jobs end before people arrive, and on Sundays before the week ends.
      latestEnd: Math.min(midnight + DAY_MS + 6 * HOUR_MS, week.endsAt - 30 * MINUTE_MS),
      count: draw.integer(...batch.seats),
      patienceMs: draw.between(30, 120) * MINUTE_MS,
      borrowed: false,
    };
  });
}

function keyOf({ daemon, name }: FeatureSpec): string {
  return `${daemon}:${name}`;
}

/** Draws long checkouts. They begin on a Monday before people arrive, when seats are free. */
function longHoldsOf(context: DemandContext, use: UseSpec): Request[] {
  const { seed, clock, server, feature, staff, week } = context;
  return Array.from({ length: use.long ?? 0 }, (_, slot) => {
    // Shift the blocks of the slots, so that the slots change their holders in different weeks.
    const shift = slot % LONG_BLOCK_WEEKS;
    const block = Math.floor((week.index - shift) / LONG_BLOCK_WEEKS);
    const draw = draws(seed, server.id, keyOf(feature), "long", slot, block);
    const blockWeek = block * LONG_BLOCK_WEEKS + shift;
    // Most long checkouts begin with their block, so that few weeks have none.
    const startWeek = blockWeek + Math.floor(draw.between(0, 1) ** 2 * (LONG_BLOCK_WEEKS - 1));
    const actor = draw.pick(staff);
    const askedAt = weekOf(clock, startWeek).startsAt + draw.between(20, 80) * MINUTE_MS;
    const wantedMs = draw.between(4, (blockWeek + LONG_BLOCK_WEEKS - startWeek) * 7 - 1) * DAY_MS;
    return {
      actor,
      ordinal: slot,
      week: startWeek,
      askedAt,
      wantedMs,
      latestEnd: askedAt + wantedMs,
      count: use.each ?? 1,
      patienceMs: 0,
      borrowed: use.borrow === true,
    };
  }).filter(({ week: start, latestEnd }) => start <= week.index && latestEnd > week.startsAt);
}
