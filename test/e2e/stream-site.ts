import { type Daemon, until } from "./harness.ts";
import { createSite, NO_LIMITS, type Site } from "./site.ts";

/** Creates a site whose daemon logs every request, so that a test can create any number of events. */
export function createStreamSite(limits = ""): Promise<Site> {
  const log = '[log]\nlevel = "debug"\nformat = "json"\n';
  return createSite(`${log}${NO_LIMITS}anonymous_per_minute = 1000000\n${limits}`);
}

interface Published {
  readonly tag: string;
  readonly count: number;
  /** Events per second; default: as fast as possible. */
  readonly rate?: number;
  readonly length?: number;
}

/**
 * Makes the daemon log `count` lines with the request ids `<tag>-<n>`, by requesting an unknown path of this length (at
 * most 500). Returns the number of answered requests.
 */
export async function publish(daemon: Pick<Daemon, "url">, published: Published): Promise<number> {
  const { tag, count, rate, length = 10 } = published;
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
        // The daemon was killed during the request. The streams show whether it wrote the line.
        await Bun.sleep(20);
      }
    }
  };
  // Send the last one alone, so that a client that receives it has received all others.
  await Promise.all(Array.from({ length: 8 }, () => send(count - 1)));
  await send(count);
  return answered;
}

/** A received event: the id of the frame or the payload, the frame's name, and the payload. */
export interface Seen {
  readonly id: number;
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export function requestIdOf({ data }: Pick<Seen, "data">): string | null {
  const { metadata } = data;
  if (typeof metadata !== "object" || metadata === null || !("requestId" in metadata)) return null;
  return typeof metadata.requestId === "string" ? metadata.requestId : null;
}

export function untilSeen(seen: readonly Seen[], requestId: string): Promise<true> {
  return until(
    `the event ${requestId} arrives`,
    () => seen.some((each) => requestIdOf(each) === requestId) || undefined,
  );
}

/** Returns the stored log events above an id up to `requestId`, read from a resumed stream. */
export async function replay(daemon: Daemon, key: string, from: number, requestId: string) {
  const seen: Seen[] = [];
  for await (const { id, name, data } of framesOf(
    daemon,
    `/stream/logs?events=log&last_event_id=${from}`,
    key,
  )) {
    if (name === null) continue;
    seen.push({ id, name, data });
    if (requestIdOf({ data }) === requestId) break;
  }
  return seen;
}

/** Yields the frames of an event stream until it ends or breaks, or the caller leaves the loop. */
export async function* framesOf(daemon: Daemon, path: string, key: string) {
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
    // The stream was cut by the test, by the end of the daemon, or because it was read too slowly. The caller knows which.
  } finally {
    stop.abort();
  }
}

/** `name` is null for comments and for `retry`. */
function parseFrame(text: string) {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(text)?.[1];
  const data = asObject(field("data") ?? "{}");
  return { id: Number(field("id") ?? "NaN"), name: field("event") ?? null, data, text };
}

export function asObject(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null) throw new Error(`not an object: ${text}`);
  return { ...value };
}

/** Returns the private resident memory of a process in MB. */
export async function ownMegabytes(pid: number): Promise<number> {
  const status = await Bun.file(`/proc/${pid}/status`).text();
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1]) / 1000;
}
