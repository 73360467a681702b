import { wallClock } from "../../domain/zone.ts";

export const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** `Fri 10/20 16:44` in the zone; a time that is not known gets a date that no year has. */
export function printStart(startedAt: number | null, zone: string): string {
  if (startedAt === null) return "Mon 0/0 0:00";
  const local = new Date(wallClock(zone, startedAt));
  const date = `${local.getUTCMonth() + 1}/${local.getUTCDate()}`;
  const minute = String(local.getUTCMinutes()).padStart(2, "0");
  return `${WEEKDAYS[local.getUTCDay()]} ${date} ${local.getUTCHours()}:${minute}`;
}
