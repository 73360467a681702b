import type { Reading } from "../../../src/domain/reading.ts";
import { lmx } from "../../../src/managers/lmx/index.ts";
import { outputsOf } from "../read-as.ts";

export const ZONE = "Europe/Berlin";

export const { parse, fixture } = outputsOf("lmx", { zone: ZONE });

export const render = (reading: Reading, step?: string): string =>
  lmx.render(reading, { address: "6200@lic", zone: ZONE, ...(step !== undefined && { step }) });

/** Summarizes each feature as `daemon/feature`, used, total, unit, consistency. */
export function summary(reading: Reading): string[] {
  return reading.features.map(
    (f) =>
      `${f.daemon}/${f.name} ${f.used}/${f.unlimited ? "unlimited" : f.total} ${f.unit ?? "seats"} ` +
      `${f.checkouts.map(({ user, count }) => `${user} ${count}`).join(", ") || "-"} ${f.consistency}`,
  );
}
