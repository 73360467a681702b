import { type Daemon, until } from "./harness.ts";
import { createSite, type Site } from "./site.ts";

/** Every request is a log line, and nobody is held back by a limit that is not what is tested. */
const CONFIG = `
[log]
level = "debug"
format = "json"
[limits]
requests_per_minute = 1000000
burst = 1000000
anonymous_per_minute = 1000000
`;

/** A site whose daemon logs every request: the way to make it tell as many events as a test needs. */
export async function createStreamSite(limits = ""): Promise<Site> {
  const site = await createSite();
  await site.configure(CONFIG + limits);
  return site;
}

export interface Published {
  /** Starts the request ids by which the events are known again: `<tag>-<n>`. */
  readonly tag: string;
  readonly count: number;
  /** Events a second; as fast as it goes when absent. */
  readonly rate?: number;
  /** Makes the events longer: characters of the path that is asked for, 500 at most. */
  readonly length?: number;
}

/** Makes the daemon log `count` lines; each is a request for a path that there is not. Answers how many were answered. */
export async function publish(
  daemon: Pick<Daemon, "url">,
  { tag, count, rate, length = 10 }: Published,
): Promise<number> {
  const path = `/api/${"x".repeat(length)}`;
  const startedAt = performance.now();
  let next = 0;
  let answered = 0;
  const send = async (end: number) => {
    while (next < end) {
      const number = next++;
      const due = rate === undefined ? 0 : startedAt + (number / rate) * 1000 - performance.now();
      if (due > 1) await Bun.sleep(due);
      try {
        const response = await fetch(daemon.url + path, { headers: { "X-Request-ID": `${tag}-${number}` } });
        await response.arrayBuffer();
        answered++;
      } catch {
        // The daemon was killed meanwhile: whether the line was written is what the streams will tell.
        await Bun.sleep(20);
      }
    }
  };
  // The last one goes alone, so that whoever has seen it can have seen all.
  await Promise.all(Array.from({ length: 8 }, () => send(count - 1)));
  await send(count);
  return answered;
}

/** What a client got: the id of the frame or of the payload, the frame's name, and the payload. */
export interface Seen {
  readonly id: number;
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The request id of an access-log line; null for other events. */
export function requestIdOf({ data }: Seen): string | null {
  const { metadata } = data;
  if (typeof metadata !== "object" || metadata === null || !("requestId" in metadata)) return null;
  return typeof metadata.requestId === "string" ? metadata.requestId : null;
}

/** Waits until the client has seen the event of this request. */
export function untilSeen(seen: readonly Seen[], requestId: string): Promise<true> {
  return until(
    `the event ${requestId} arrives`,
    () => seen.some((each) => requestIdOf(each) === requestId) || undefined,
  );
}

/** The stored log events above an id, in order, as a stream that resumes there tells them: up to `requestId`. */
export async function replay(
  daemon: Daemon,
  key: string,
  from: number,
  requestId: string,
): Promise<readonly Seen[]> {
  const seen: Seen[] = [];
  for await (const frame of framesOf(daemon, `/stream/logs?events=log&last_event_id=${from}`, key)) {
    if (frame.name === null) continue;
    const event = { id: frame.id, name: frame.name, data: frame.data };
    seen.push(event);
    if (requestIdOf(event) === requestId) break;
  }
  return seen;
}

export interface Frame {
  readonly id: number;
  /** Null for comments and for `retry`. */
  readonly name: string | null;
  readonly data: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** The blocks of an event stream, until it ends or is cut, or the reader leaves the loop. */
export async function* framesOf(daemon: Daemon, path: string, key: string): AsyncGenerator<Frame> {
  const stop = new AbortController();
  const { body } = await daemon.get(path, key, { signal: stop.signal });
  if (body === null) throw new Error("there is no stream");
  let rest = "";
  const decoder = new TextDecoder();
  try {
    for await (const bytes of body) {
      rest += decoder.decode(bytes, { stream: true });
      const blocks = rest.split("\n\n");
      rest = blocks.pop() ?? "";
      for (const text of blocks) yield parseFrame(text);
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // Cut in the middle: by the test, by the daemon's end, or because it read too slowly. Its reader sees which.
  } finally {
    stop.abort();
  }
}

function parseFrame(text: string): Frame {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(text)?.[1];
  const data: unknown = JSON.parse(field("data") ?? "{}");
  if (typeof data !== "object" || data === null) throw new Error(`not an object: ${text}`);
  return { id: Number(field("id") ?? "NaN"), name: field("event") ?? null, data: { ...data }, text };
}

/** Resident memory of a process that belongs to it alone, in MB. */
export async function ownMegabytes(pid: number): Promise<number> {
  const status = await Bun.file(`/proc/${pid}/status`).text();
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1]) / 1000;
}
