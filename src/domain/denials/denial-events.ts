import type { Denial } from "../denials.ts";
import type { DenialEvent, EventInput } from "../events.ts";
import { iso } from "../time/clock.ts";

/** What a denial has to tell. */
export function denialEvent({ at, until, ...rest }: Denial): EventInput<DenialEvent> {
  return { type: "denial", deniedAt: iso(at), ...rest, until: iso(until) };
}
