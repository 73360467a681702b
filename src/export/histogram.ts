import type { Emit, Family, Labels } from "./family.ts";

/** Counts observations by upper bound. */
export interface Histogram {
  observe(value: number): void;
  emit(emit: Emit, family: Family, labels: Labels): void;
}

/** `bounds` ascend and are finite; the bucket `+Inf` comes by itself. Buckets are told cumulatively, as Prometheus wants. */
export function createHistogram(bounds: readonly number[]): Histogram {
  const counts = bounds.map(() => 0);
  const names = bounds.map(boundName);
  let count = 0;
  let sum = 0;
  return {
    observe(value) {
      count++;
      sum += value;
      const index = bounds.findIndex((bound) => value <= bound);
      if (index >= 0) counts[index] = (counts[index] ?? 0) + 1;
    },
    emit(emit, family, labels) {
      let below = 0;
      for (const [index, name] of names.entries()) {
        below += counts[index] ?? 0;
        emit(family, [...labels, ["le", name]], below, "_bucket");
      }
      emit(family, [...labels, ["le", "+Inf"]], count, "_bucket");
      emit(family, labels, sum, "_sum");
      emit(family, labels, count, "_count");
    },
  };
}

/** OpenMetrics 1.0 wants a point in every bound; the older text takes any spelling. One for both is one series. */
function boundName(bound: number): string {
  return Number.isInteger(bound) ? bound.toFixed(1) : String(bound);
}
