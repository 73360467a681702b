import { closestNames, closestSentence } from "../config/closest-word.ts";
import { ApiError } from "../domain/errors.ts";
import type { ServerPicture, Snapshot } from "../domain/picture.ts";
import {
  type Answer,
  BY_ENCODING,
  type Format,
  jsonAnswer,
  send,
  tagOfZipped,
  zipped,
} from "./answers/answer.ts";
import type { HttpDeps } from "./deps.ts";
import type { Exchange } from "./exchange.ts";
import { shown } from "./query.ts";

/**
 * Caches a value per picture. Pictures are immutable, so a poll of one server renews only that server's value.
 * Anonymous pictures are separate objects, so their values never mix with others.
 */
export function perPicture<T>(make: (picture: ServerPicture) => T): (picture: ServerPicture) => T {
  const kept = new WeakMap<ServerPicture, T>();
  return (picture) => kept.getOrInsertComputed(picture, make);
}

/** Returns the snapshot as a caller may see it. Routes read the live picture only through this. */
export type SnapshotFor = (exchange: Pick<Exchange, "caller">) => Snapshot;

/**
 * Returns the snapshot as the caller may see it. Anonymized pictures are made when the first anonymized key
 * requests them.
 */
export function createSnapshotFor({ live, pictures }: Pick<HttpDeps, "live" | "pictures">): SnapshotFor {
  return ({ caller }) => {
    const snapshot = live.snapshot();
    if (caller?.anonymize !== true) return snapshot;
    return { ...snapshot, servers: snapshot.servers.map(pictures.anonymous) };
  };
}

/**
 * Returns the named servers with all the labels (`name:value`), in the order of the config; all if none are named.
 * Throws NOT_FOUND for an unknown id or label.
 */
export function namedServers(
  { servers }: Pick<Snapshot, "servers">,
  ids?: readonly string[] | null,
  labels: readonly string[] = [],
): readonly ServerPicture[] {
  if (ids == null && labels.length === 0) return servers;
  for (const id of ids ?? []) knownServer({ servers }, id);
  const labelsOf = ({ server }: ServerPicture) =>
    Object.entries(server.labels).map(([name, value]) => `${name}:${value}`);
  if (labels.length > 0)
    checkKnown(labels, servers.flatMap(labelsOf), (label) => `No license server has the label ${label}`);
  return servers.filter(
    (picture) =>
      (ids?.includes(picture.server.id) ?? true) &&
      labels.every((label) => labelsOf(picture).includes(label)),
  );
}

/** Replaces labels in a query by the servers that have them. Throws like {@link namedServers}. */
export function byLabels<Query extends Partial<Record<"server" | "label", readonly string[] | null>>>(
  snapshot: Snapshot,
  query: Query,
): Query {
  const named = namedServers(snapshot, query.server, query.label ?? []);
  return query.label ? { ...query, server: named.map(({ server }) => server.id) } : query;
}

export function knownServer({ servers }: Pick<Snapshot, "servers">, id: string): ServerPicture {
  const ids = servers.map(({ server }) => server.id);
  checkKnown([id], ids, (name) => `Unknown server ${name}; /api/licenses/servers lists them`);
  return servers[ids.indexOf(id)] as ServerPicture;
}

/**
 * Throws NOT_FOUND for the first unknown name and names the closest known ones. `say` formats the message.
 */
export function checkKnown(
  names: readonly string[],
  known: readonly string[],
  say: (name: string) => string,
): void {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const closest = closestWords(closestNames(unknown, new Set(known)));
  throw new ApiError("NOT_FOUND", `${say(shown(unknown))}.${closest}`);
}

/** Returns a sentence with a leading space that names the closest matches; an empty text without names. */
export function closestWords(names: readonly string[]): string {
  return closestSentence(names.map(shown));
}

export type Join = (head: string, parts: readonly string[], tail: string) => Answer;

/** Maximum size of all cached answers. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;

interface Kept extends Answer {
  /** Gzips once, for the first client that accepts it. */
  readonly zip: () => Promise<Answer>;
}

export type Answers = ReturnType<typeof createAnswers>;

/**
 * Creates a cache of answers. Tags have a random part, because each process counts versions from the start.
 */
export function createAnswers() {
  const run = Bun.randomUUIDv7().slice(-12);
  const kept = new Map<string, Kept>();
  let keptBytes = 0;
  let version = -1;
  let spare: Buffer<ArrayBuffer>[] = [];

  /**
   * Starts with a new snapshot and reuses the buffers of the last one: a large answer is rebuilt after every poll,
   * and 5 MB of garbage each time cost pauses of 30 ms. A Response copies its bytes (Fetch standard, "extract a
   * body"), so running answers are safe.
   */
  function begin(snapshot: Snapshot): void {
    spare = [...kept.values()].flatMap(({ body }) =>
      body instanceof Buffer ? [Buffer.from(body.buffer)] : [],
    );
    kept.clear();
    keptBytes = 0;
    version = snapshot.version;
  }

  const join: Join = (head, parts, tail) => {
    const pieces = parts.filter((text) => text !== "");
    const length = [head, ...pieces, tail].reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
    const fitting = spare.findIndex(({ byteLength }) => byteLength >= length);
    const [buffer = Buffer.alloc(Math.ceil(length * 1.25))] = fitting === -1 ? [] : spare.splice(fitting, 1);
    let end = buffer.write(head);
    for (const [index, text] of pieces.entries()) {
      if (index > 0) end += buffer.write(",", end);
      end += buffer.write(text, end);
    }
    end += buffer.write(tail, end);
    return jsonAnswer(buffer.subarray(0, end));
  };

  function keep(what: string, etag: string, { body, headers }: Answer): Kept {
    const bytes = what.length + body.byteLength;
    if (keptBytes + bytes > MAX_KEPT_BYTES) {
      kept.clear();
      keptBytes = 0;
    }
    const tagged = { ...headers, etag };
    let zip: Promise<Answer> | null = null;
    // Compress a copy, because the buffer of a joined answer is reused for the next snapshot. `slice` of a
    // Buffer makes no copy.
    const zipOnce = () => (zip ??= zipped({ body: new Uint8Array(body), headers: tagged }));
    const made = { body, headers: tagged, zip: zipOnce };
    kept.set(what, made);
    keptBytes += bytes;
    return made;
  }

  return {
    /**
     * Answers 304, a cached answer or a new one. `make` runs only if needed, after the query was checked. `besides`:
     * other inputs of the answer.
     */
    respond(
      { request, caller, path, route, query }: Exchange,
      snapshot: Snapshot,
      format: Format,
      make: (join: Join) => Answer,
      besides = "",
    ): Response | Promise<Response> {
      if (snapshot.version !== version) begin(snapshot);
      const audience = caller?.anonymize === true ? "anonymous" : "";
      const asked = query.replaceAll(/(^|&)_=[^&]*/g, "");
      const what = `${route?.path} ${path}?${asked}#${format}#${audience}${besides}`;
      const etag = `"${run}-${version}-${Bun.hash(what).toString(36)}"`;
      const held = request.headers.get("if-none-match");
      const tag = held === null ? undefined : [etag, tagOfZipped(etag)].find((one) => matches(held, one));
      if (tag !== undefined) {
        const headers = { etag: tag, ...(tag !== etag && { vary: BY_ENCODING }) };
        return new Response(null, { status: 304, headers });
      }
      const answer = kept.get(what) ?? keep(what, etag, make(join));
      return send(request, answer, answer.zip);
    },
  };
}

/** Weak comparison (RFC 9110 13.1.2). */
export function matches(ifNoneMatch: string, tag: string): boolean {
  return ifNoneMatch.split(",").some((part) => ["*", tag, `W/${tag}`].includes(part.trim()));
}
