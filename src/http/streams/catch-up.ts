import type { Hub, StreamClient } from "./hub.ts";
import { chunkOf } from "./hub.ts";
import { type EventHistory, PAGE_EVENTS } from "./replay.ts";
import type { Telling } from "./telling.ts";

export interface CatchUpDeps {
  readonly hub: Pick<Hub, "goLive" | "lastPublished" | "wantSample" | "teller">;
  readonly history: Pick<EventHistory, "page">;
  /** Metrics samples in memory above an id. */
  readonly samplesSince: (id: number) => readonly Telling[];
  /** Sentences on what is missing that were not known when the client was opened. */
  readonly lateNotes: () => readonly string[];
  /** Gives the event loop back between two pages. */
  readonly breathe: () => Promise<void>;
}

/** A client that catches up: it says when it can take more and when it is gone. */
export interface CatchingUp extends StreamClient {
  /** Resolves once little waits for the client; at once in the usual case. */
  ready(): Promise<void>;
  /** Tells of what is missing in what was sent. */
  note(text: string): void;
  readonly gone: boolean;
}

/**
 * Sends every stored event behind `from`, in order, at the reader's pace, then lets the client go live without a gap
 * or a double: the page that reaches the newest event and the step to live happen in one turn of the event loop, and
 * events are told in the turn of their commit.
 */
export async function catchUp(client: CatchingUp, from: number, deps: CatchUpDeps): Promise<void> {
  const { hub, history, samplesSince, lateNotes, breathe } = deps;
  const { stream } = client.filter;
  let cursor = from;
  if (stream === "metrics") {
    const chunk = chunkOf(samplesSince(from), client.filter);
    if (chunk !== null) client.send(chunk);
  } else {
    const only = stream === "logs" ? "log" : undefined;
    for (;;) {
      await client.ready();
      if (client.gone) return;
      const newest = hub.lastPublished();
      const page = history.page(cursor, PAGE_EVENTS, only);
      const chunk = chunkOf(page.map(hub.teller.stored), client.filter);
      if (chunk !== null) client.send(chunk);
      cursor = page.at(-1)?.id ?? newest;
      if (page.length < PAGE_EVENTS || cursor >= newest) break;
      await breathe();
    }
    // A replay takes its time: events may have been deleted, or told without being stored, meanwhile.
    for (const note of lateNotes()) client.note(note);
  }
  if (client.gone) return;
  hub.goLive(client);
  // A replay ends with a current sample.
  hub.wantSample(client);
}
