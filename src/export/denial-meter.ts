import type { DenialEvent } from "../domain/events.ts";
import { counter, type Emit } from "./family.ts";

export const DENIALS = {
  denials: counter(
    "license_denials_total",
    "Denied requests since the start of licmond; a user who tries again within minutes counts once.",
  ),
} as const;

/** A log may name features without end; what does not fit is counted without its feature. */
const MAX_SERIES = 10_000;

/** Counts denials as they are told. Granted and queued requests are none. */
export interface DenialMeter {
  add(denial: Pick<DenialEvent, "server" | "daemon" | "feature" | "user" | "count" | "outcome">): void;
  emit(emit: Emit): void;
}

export function createDenialMeter(maxSeries: number = MAX_SERIES): DenialMeter {
  const counts = new Map<string, { readonly labels: readonly [string, string, string]; count: number }>();

  return {
    add({ server, daemon, feature, user, count, outcome }) {
      if (outcome !== "denied") return;
      let labels: readonly [string, string, string] = [server, daemon, feature ?? ""];
      if (counts.size >= maxSeries && !counts.has(labels.join("\0"))) labels = [server, daemon, ""];
      const key = labels.join("\0");
      const entry = counts.get(key) ?? { labels, count: 0 };
      // Where the manager only counts, one event tells of many.
      entry.count += feature === null && user === null ? count : 1;
      counts.set(key, entry);
    },
    emit(emit) {
      for (const { labels, count } of counts.values()) {
        const [server, daemon, feature] = labels;
        emit(
          DENIALS.denials,
          [
            ["server", server],
            ["daemon", daemon],
            ["feature", feature],
          ],
          count,
        );
      }
    },
  };
}
