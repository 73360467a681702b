import type { Reading } from "../../../src/domain/reading.ts";
import { outputsOf } from "../read-as.ts";

export const ZONE = "Europe/Berlin";

export const { parse, fixture } = outputsOf("rms", { zone: ZONE });

/** Summarizes each feature as `feature version`, used, total, users, consistency. */
export function summary(reading: Reading): string[] {
  return reading.features.map(
    (f) =>
      `${f.name} ${f.pools[0]?.version} ${f.used}/${f.unlimited ? "unlimited" : f.total} ` +
      `${f.checkouts.map(({ user, count }) => `${user} ${count}`).join(", ") || "-"} ${f.consistency}` +
      `${f.cut ? " cut" : ""}`,
  );
}
