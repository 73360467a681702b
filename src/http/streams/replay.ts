import type { EventType } from "../../domain/events.ts";
import type { Told } from "./telling.ts";

/** Events read from the store at a time: a millisecond or two of work. */
export const PAGE_EVENTS = 200;

/** What streams ask of the stored events. */
export interface EventHistory {
  /** The next events above `after`, at most `limit`, in order. */
  page(after: number, limit: number, only?: EventType): readonly Told[];
  oldestId(): number | null;
  /** The newest id that was deleted by retention or a clearing; 0 when none was. */
  deletedThrough(only?: "log"): number;
  /** Ranges of ids above `after` that were told while the store could not take them. */
  holesAbove(after: number): readonly { readonly from: number; readonly to: number }[];
}

/** What a client must be told that resumes behind an id which nobody was told yet: sentences for comments. */
export function aheadNotes(from: number, newest: number): string[] {
  return from > newest ? [`${from} is ahead of the newest event ${newest}: live events follow`] : [];
}

/** What is missing behind `from`, as far as is known now. */
export function gapNotes(history: EventHistory, from: number, only?: "log"): string[] {
  const notes: string[] = [];
  const deleted = history.deletedThrough(only);
  if (from < deleted) notes.push(`events up to ${deleted} were deleted, some may be missing`);
  for (const hole of history.holesAbove(from)) {
    notes.push(`events ${hole.from} to ${hole.to} could not be stored and are missing`);
  }
  return notes;
}
