import type { Unit } from "../../domain/words.ts";

/** Features that stand for Altair's units themselves, by the zone of the world in which a program runs. */
const UNITS = /^(?:HyperWorks|GlobalZone(?:AM|EU|AP))$/i;

/**
 * What the counts of a feature count. lmxendutil does not say it; two documents do.
 *
 * - A license of the type TOKEN draws on other features (LM-X documentation, "Key type").
 * - Altair sells units: one is 1000 licenses of `HyperWorks`. A program that starts takes as many of `GlobalZoneXX`, of
 *   `HyperWorks` and of its own feature, which is called `HW…` and has no limit of its own (Altair HyperWorks
 *   documentation, "HyperWorks Licensing Units" and "Global Licensing"). A feature that is licensed by itself, such as
 *   CatiaV5Reader, is named after its product, has a limit, and counts seats.
 *
 * Such features have no seat group: each is charged and limited by itself, so their totals differ.
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
