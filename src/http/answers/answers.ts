import type { Snapshot } from "../../domain/picture.ts";
import type { Exchange } from "../exchange.ts";
import { type Answer, BY_ENCODING, send, tagOfZipped, zipped } from "./answer.ts";
import type { Format } from "./format.ts";

/** Answers made from the snapshot: tagged, and kept as bytes (gzipped, too) while the snapshot stays the same. */
export interface Answers {
  /**
   * 304, the kept answer, or a new one. The query has been checked: `make` is called only when it must be. `besides`
   * is what else the answer depends on.
   */
  respond(
    request: Request,
    exchange: Exchange,
    snapshot: Snapshot,
    format: Format,
    make: () => Answer,
    besides?: string,
  ): Response | Promise<Response>;
}

const MAX_KEPT_BYTES = 64 * 1024 * 1024;
const MAX_KEPT = 128;
/** No dashboard has a longer query: its answer is not kept. */
const MAX_QUERY = 1024;

export function createAnswers(): Answers {
  const tags = createTags();
  const kept = new Map<string, Answer>();
  let keptBytes = 0;
  let keptVersion = -1;
  /** Those of answers that are kept, for as long as these are. */
  const zips = new WeakMap<Answer, Promise<Answer>>();

  function zipOnce(answer: Answer): Promise<Answer> {
    let zip = zips.get(answer);
    if (zip === undefined) {
      // A copy (`slice` of a Buffer is none): the buffer of a large answer is used again for the next snapshot's.
      zip = zipped({ ...answer, body: new Uint8Array(answer.body) });
      zips.set(answer, zip);
      // The requests that wait get the error; the next request tries again.
      zip.catch(() => zips.delete(answer));
    }
    return zip;
  }

  function keep(what: string, answer: Answer): void {
    if (what.length > MAX_QUERY || answer.body.byteLength > MAX_KEPT_BYTES) return;
    for (const [oldest, { body }] of kept) {
      if (kept.size < MAX_KEPT && keptBytes + answer.body.byteLength <= MAX_KEPT_BYTES) break;
      kept.delete(oldest);
      keptBytes -= body.byteLength;
    }
    kept.set(what, answer);
    keptBytes += answer.body.byteLength;
  }

  return {
    respond(request, exchange, snapshot, format, make, besides = "") {
      if (snapshot.version !== keptVersion) {
        kept.clear();
        keptBytes = 0;
        keptVersion = snapshot.version;
      }
      const audience = exchange.caller?.anonymize === true ? "anonymous" : "";
      const what = `${exchange.route?.path} ${exchange.path}?${exchange.query}#${format}#${audience}${besides}`;
      const etag = tags.of(snapshot.version, what);
      const asked = request.headers.get("if-none-match");
      const held = asked === null ? undefined : [etag, tagOfZipped(etag)].find((tag) => matches(asked, tag));
      if (held !== undefined)
        return new Response(null, {
          status: 304,
          headers: { etag: held, ...(held !== etag && { vary: BY_ENCODING }) },
        });
      let answer = kept.get(what);
      if (answer === undefined) {
        const { body, headers } = make();
        answer = { body, headers: { ...headers, etag } };
        keep(what, answer);
      }
      return send(request, answer, zipOnce);
    },
  };
}

/** Tags of answers made from a snapshot: equal within one process exactly when snapshot, query and format are. */
interface Tags {
  of(snapshotVersion: number, what: string): string;
}

/** Each process counts versions from the start, so a random part keeps tags of different runs apart. */
function createTags(run: string = Bun.randomUUIDv7().slice(-12)): Tags {
  return { of: (version, what) => `"${run}-${version}-${Bun.hash(what).toString(36)}"` };
}

/** True when `If-None-Match` holds the tag (weak comparison, RFC 9110 13.1.2). */
export function matches(ifNoneMatch: string | null, tag: string): boolean {
  if (ifNoneMatch === null) return false;
  return ifNoneMatch.split(",").some((part) => {
    const given = part.trim();
    return given === "*" || given === tag || given === `W/${tag}`;
  });
}
