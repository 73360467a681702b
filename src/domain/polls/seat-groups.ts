import type { Shared } from "../history.ts";
import type { FeaturePicture } from "../picture.ts";

type Counts = Pick<FeaturePicture, "total" | "used" | "unlimited">;

/** In pictures or in history. */
type Named = { readonly name: string } | { readonly feature: string };
export type Member = Shared & Named;

const nameOf = (feature: Named) => ("name" in feature ? feature.name : feature.feature);

/** Returns the seat group of a package and its components, which share the seats of the package. */
export function packageGroup(name: string): string {
  return `package ${name}`;
}

function isPackage(feature: Member): boolean {
  return feature.seatGroup === packageGroup(nameOf(feature));
}

/** Groups features that share seats, in the order of their first features. */
export function seatGroups<F extends Shared>(
  features: Iterable<F>,
  serverOf: (feature: F) => string = () => "",
): F[][] {
  const all: F[][] = [];
  const groups = new Map<string, F[]>();
  for (const feature of features) {
    const { unit = "seats", seatGroup = null } = feature;
    if (seatGroup === null) {
      all.push([feature]);
      continue;
    }
    const key = `${serverOf(feature)}\0${unit}\0${seatGroup}`;
    const known = groups.get(key);
    if (known !== undefined) {
      known.push(feature);
      continue;
    }
    const group = [feature];
    groups.set(key, group);
    all.push(group);
  }
  return all;
}

/**
 * Groups features like {@link seatGroups}, but omits the components of a package that is among the
 * features, because a seat of a component is a seat of its package. In a sum, each set counts once, see
 * {@link poolOf}.
 */
export function sharedSets<F extends Member>(
  features: Iterable<F>,
  serverOf?: (feature: F) => string,
): F[][] {
  return seatGroups(features, serverOf).map((group) => {
    const packages = group.filter(isPackage);
    return packages.length > 0 ? packages : group;
  });
}

/** Returns the {@link sharedSets} that count seats. Sums contain no other units. */
export function seatSets<F extends Member>(features: Iterable<F>, serverOf?: (feature: F) => string): F[][] {
  return sharedSets(features, serverOf).filter(([first]) => isSeats(first));
}

/** Returns how many free seats of a feature cannot be used because fewer seats are left in its seat group. */
export function groupLimit({
  total,
  used,
  available,
  seatGroup = null,
}: Pick<FeaturePicture, "total" | "used" | "available"> & Shared): number {
  if (seatGroup === null || total === null || used === null || available === null) return 0;
  return Math.max(0, total - used - available);
}

export function isSeats(feature: Shared | undefined): boolean {
  return (feature?.unit ?? "seats") === "seats";
}

/**
 * Returns the counts of a set. In a seat group, each member reports the group's size and the seats of its own
 * users, so the total is the largest and the use is the sum. In a pool of tokens or credits, each feature
 * reports the use of the whole pool. Ignores unknown members.
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

/** Adds the known values; null if none is known. */
export function sumOfKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}
