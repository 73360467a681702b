import { InvalidArgumentError } from "commander";
import { isZone } from "../domain/time/zone.ts";

/** Makes a parser of an option's value from one that answers null for what it does not know; `takes` is said then. */
export function parserOf<T>(read: (text: string) => T | null, takes: string): (text: string) => T {
  return (text) => {
    const value = read(text);
    if (value !== null) return value;
    throw new InvalidArgumentError(takes);
  };
}

export function integer(from: number, to: number, takes: string): (text: string) => number {
  const read = (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : Number.NaN);
  return parserOf((text) => (read(text) >= from && read(text) <= to ? read(text) : null), takes);
}

export const zone = parserOf(
  (text) => (isZone(text) ? text : null),
  'It takes an IANA time zone, e.g. "Europe/Berlin".',
);
