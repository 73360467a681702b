import type { Shared } from "../history.ts";
import type { FeaturePicture } from "../picture.ts";

type Counts = Pick<FeaturePicture, "total" | "used" | "unlimited">;

/**
 * What counts where counts are added up, in the one place that knows it. Features of one seat group of a server draw on
 * one set of seats; every other feature is a set of its own. A set counts once, see {@link poolOf}. Sums are of sets of
 * seats alone, see {@link seatSets}: tokens and credits are added to nothing. Sets stand in the order of their first
 * features.
 */
export function sharedSets<F extends Shared>(
  features: Iterable<F>,
  serverOf: (feature: F) => string = () => "",
): F[][] {
  const sets: F[][] = [];
  const groups = new Map<string, F[]>();
  for (const feature of features) {
    const { unit = "seats", seatGroup = null } = feature;
    if (seatGroup === null) {
      sets.push([feature]);
      continue;
    }
    const key = `${serverOf(feature)}\0${unit}\0${seatGroup}`;
    const known = groups.get(key);
    if (known !== undefined) {
      known.push(feature);
      continue;
    }
    const set = [feature];
    groups.set(key, set);
    sets.push(set);
  }
  return sets;
}

/** The sets of {@link sharedSets} whose seats may be added up. */
export function seatSets<F extends Shared>(features: Iterable<F>, serverOf?: (feature: F) => string): F[][] {
  return sharedSets(features, serverOf).filter(([first]) => isSeats(first));
}

export function isSeats(feature: Shared | undefined): boolean {
  return (feature?.unit ?? "seats") === "seats";
}

/**
 * The counts of a set. Each member of a group says how large the group is, and how many of its seats its own users have:
 * the total is the largest, the use is the sum; a member without a limit makes the group unlimited. Each feature that
 * charges a pool of tokens or credits says what all of them have in use. Unknown members count for nothing.
 */
export function poolOf(members: readonly (Counts & Shared)[], unit = members[0]?.unit ?? "seats"): Counts {
  const [only] = members;
  if (only !== undefined && members.length === 1) {
    const { total, used, unlimited } = only;
    return { total, used, unlimited };
  }
  const unlimited = members.some((member) => member.unlimited);
  const totals = members.flatMap(({ total }) => total ?? []);
  const used = members.map((member) => member.used);
  const known = used.filter((count) => count !== null);
  return {
    total: unlimited || totals.length === 0 ? null : Math.max(...totals),
    used: unit === "seats" || known.length === 0 ? sumOfKnown(used) : Math.max(...known),
    unlimited,
  };
}

/** Null when nothing is known. */
export function sumOfKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}
