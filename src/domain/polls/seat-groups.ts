import type { Shared } from "../history.ts";
import type { FeaturePicture } from "../picture.ts";

type Counts = Pick<FeaturePicture, "total" | "used" | "unlimited">;

/** A feature as pictures name it, or as history does. */
type Named = { readonly name: string } | { readonly feature: string };
export type Member = Shared & Named;

const nameOf = (feature: Named) => ("name" in feature ? feature.name : feature.feature);

/** Name of the seat group of a package and its components. The seats of a group with this name are those of the package. */
export function packageGroup(name: string): string {
  return `package ${name}`;
}

export function isPackage(feature: Member): boolean {
  return feature.seatGroup === packageGroup(nameOf(feature));
}

/**
 * Groups features by the seats that they draw on: the features of one seat group of a server, or a feature alone. Groups
 * are in the order of their first features.
 */
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
 * Groups features as {@link seatGroups} does, without the components of packages that are among the features: a seat of a
 * component is a seat of its package. Each set counts once in a sum, see {@link poolOf}. Sums are of seats alone, see
 * {@link seatSets}: tokens and credits are added to nothing.
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

/** The sets of {@link sharedSets} whose seats may be added up. */
export function seatSets<F extends Member>(features: Iterable<F>, serverOf?: (feature: F) => string): F[][] {
  return sharedSets(features, serverOf).filter(([first]) => isSeats(first));
}

/** Returns how many seats of a feature are not free only because its seat group has fewer left. */
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
