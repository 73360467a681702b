import { featureKey } from "../../domain/history.ts";
import { packageGroup } from "../../domain/polls/seat-groups.ts";
import type { CheckoutReading, FeatureReading } from "../../domain/reading.ts";
import { MINUTE_MS } from "../../domain/time/clock.ts";

const keyOf = ({ daemon, name }: Pick<FeatureReading, "daemon" | "name">) => featureKey(daemon, name);

/**
 * Groups the features of a package into one seat group. A checkout of a component takes one seat but has two lines:
 * one under the package, with the component's name after the display, and one under the component, with the same
 * user, host, PID and start. The starts may differ by a minute. A component has at least as many seats as its
 * package.
 */
export function withPackages(features: readonly FeatureReading[]): readonly FeatureReading[] {
  const totals = new Map<string, number>();
  for (const feature of features)
    totals.set(keyOf(feature), (totals.get(keyOf(feature)) ?? 0) + (feature.total ?? 0));
  /** Checkouts whose qualifier is the name of another feature. */
  const naming = features.flatMap((feature) =>
    feature.checkouts.flatMap((checkout) => {
      const component = keyOf({ daemon: feature.daemon, name: checkout.qualifier ?? "" });
      const isOther = component !== keyOf(feature) && checkout.startedAt !== null;
      const isEnough = (totals.get(component) ?? -1) >= (totals.get(keyOf(feature)) ?? 0);
      return isOther && isEnough ? [{ feature, checkout, component }] : [];
    }),
  );
  if (naming.length === 0) return features;

  const named = new Set(naming.map(({ component }) => component));
  const lines = new Set(
    features
      .filter((feature) => named.has(keyOf(feature)))
      .flatMap((feature) => feature.checkouts.map((checkout) => lineOf(keyOf(feature), checkout, 0))),
  );
  const groups = new Map<string, string>();
  for (const { feature, checkout, component } of naming) {
    if (![0, 1, -1].some((minutes) => lines.has(lineOf(component, checkout, minutes)))) continue;
    const group = packageGroup(feature.name);
    groups.set(keyOf(feature), group);
    if (!groups.has(component)) groups.set(component, group);
  }
  return features.map((feature) => {
    const seatGroup = groups.get(keyOf(feature));
    return seatGroup === undefined ? feature : { ...feature, seatGroup };
  });
}

function lineOf(feature: string, { user, host, pid, startedAt }: CheckoutReading, minutes: number): string {
  const start = startedAt === null ? null : startedAt + minutes * MINUTE_MS;
  return JSON.stringify([feature, user, host?.toLowerCase(), pid, start]);
}
