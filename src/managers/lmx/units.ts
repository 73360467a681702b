import type { Unit } from "../../domain/words.ts";

/** Features that count Altair units, by region of the world. */
const UNITS = /^(?:HyperWorks|GlobalZone(?:AM|EU|AP))$/i;

/**
 * Returns the unit of a feature's counts. lmxendutil does not print it; two documents explain it.
 *
 * - A license of type TOKEN draws on other features (LM-X documentation, "Key type").
 * - Altair sells units: one unit is 1000 licenses of `HyperWorks`. A program takes the same number from `GlobalZoneXX`,
 *   `HyperWorks` and its own feature, which is named `HW…` and is unlimited (Altair HyperWorks documentation,
 *   "HyperWorks Licensing Units" and "Global Licensing"). A feature that is licensed separately, such as CatiaV5Reader,
 *   has its product's name and a limit, and counts seats.
 *
 * Such features have no seat group: each is charged and limited separately, so their totals differ.
 */
export function unitOf(
  { name, vendor }: { readonly name: string; readonly vendor: string },
  keyType: string,
  unlimited: boolean,
): Unit {
  if (keyType === "TOKEN") return "tokens";
  if (vendor.toUpperCase() !== "ALTAIR") return "seats";
  return unlimited || UNITS.test(name) || name.startsWith("HW") ? "tokens" : "seats";
}
