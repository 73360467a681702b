import type { PictureFeature } from "../domain/polls/kept-picture.ts";
import type { Unit } from "../domain/words.ts";
import { number, plural } from "./format.ts";

export const UNREACHABLE = "licmond does not answer. Check that it runs and that the network works.";

export const unitWord = (count: number, unit: Unit = "seats") => (count === 1 ? unit.slice(0, -1) : unit);
/** Formats `1 seat`, `25,000 tokens`. */
export const amount = (count: number, unit?: Unit) => `${number(count)} ${unitWord(count, unit)}`;
/** Unit of a count, empty for seats. */
export const unlessSeats = (unit: Unit) => (unit === "seats" ? "" : ` ${unit}`);
export const peopleSeats = (people: number, seats: number, unit?: Unit) =>
  `${plural(people, "person", "people")}, ${amount(seats, unit)}`;
export const waitingWords = (count: number) => `+${number(count)} waiting`;
export const reservedWords = (count: number) => `${number(count)} reserved`;
/** Returns the strong and the weak part of `3 of 4 in use`. `total` is null without a limit. */
export const inUse = (used: string, total: string | null, unit: Unit) =>
  total === null
    ? ([used + unlessSeats(unit), " in use, no limit"] as const)
    : ([`${used}${unlessSeats(unit)} of ${total}`, " in use"] as const);
export const inDays = (days: number) =>
  days === 0 ? "today" : days < 0 ? `${number(-days)} d ago` : `in ${number(days)} d`;

export function seatsInWords(
  feature: Pick<PictureFeature, "total" | "used" | "unlimited" | "reserved" | "queued" | "state"> & {
    readonly unit?: Unit;
  },
): string {
  const { total, used, unlimited, queued, state, unit = "seats" } = feature;
  if (used === null) return "not known";
  return [
    inUse(number(used), unlimited ? null : number(total ?? 0), unit).join(""),
    ...((feature.reserved ?? 0) > 0 ? [reservedWords(feature.reserved ?? 0)] : []),
    ...((queued ?? 0) > 0 ? [`${number(queued ?? 0)} waiting`] : []),
    ...(state === "stale" ? ["stale"] : []),
  ].join(", ");
}
