import { readFrames } from "../http/streams/rig.ts";

/** An event as a client of a hub receives it. */
export interface Heard {
  readonly id: number;
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Opens an event stream. Disposing cuts the connection. */
export async function openStream(url: string, key: string, after: number | null = null) {
  const cut = new AbortController();
  const headers = { "x-api-key": key, ...(after !== null && { "last-event-id": String(after) }) };
  const response = await fetch(url, { headers, signal: cut.signal });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const { next } = readFrames(response);
  const comments: string[] = [];
  return {
    comments,
    /** Returns the next event, or null at the end of the stream. */
    async next(): Promise<Heard | null> {
      for (;;) {
        const frame = await next();
        if (frame === null) return null;
        if (frame.comment !== undefined) comments.push(frame.comment);
        if (frame.id !== undefined) return frame as Heard;
      }
    },
    /** Returns the next `count` events with one of these names. */
    async take(count: number, ...names: readonly string[]): Promise<Heard[]> {
      const heard: Heard[] = [];
      while (heard.length < count) {
        const one = await this.next();
        if (one === null) throw new Error(`the stream ended after ${heard.length} of ${count} events`);
        if (names.length === 0 || names.includes(one.event)) heard.push(one);
      }
      return heard;
    },
    async [Symbol.asyncDispose]() {
      cut.abort();
    },
  };
}

/**
 * Reads until `count` checkouts and checkins have arrived. After each `part` of them, reconnects to the next hub and
 * resumes after the last event. A hub may be down.
 */
export async function readThrough(urls: readonly string[], key: string, count: number, part: number) {
  const heard: Heard[] = [];
  let after = 0;
  let cuts = 0;
  for (let turn = 0; heard.length < count; turn++) {
    try {
      await using stream = await openStream(`${urls[turn % urls.length]}/stream/combined`, key, after);
      for (let got = 0; got < part && heard.length < count; ) {
        const one = await stream.next();
        if (one === null) break;
        after = one.id;
        if (one.event !== "checkout" && one.event !== "checkin") continue;
        heard.push(one);
        got++;
      }
    } catch (error) {
      // The hub may have been killed, so try again, but not after a 4xx answer, which would repeat forever.
      if (error instanceof Error && /^4\d\d /.test(error.message)) throw error;
      await Bun.sleep(50);
    }
    cuts++;
  }
  return { heard, cuts: cuts - 1 };
}
