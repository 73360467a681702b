import type { ServerPicture, Snapshot } from "../../domain/picture.ts";
import type { Exchange } from "../exchange.ts";
import { type Answer, BY_ENCODING, type Format, jsonAnswer, send, tagOfZipped, zipped } from "./answer.ts";

export type Answers = ReturnType<typeof createAnswers>;

/** The JSON of `head`, the parts that are not empty with commas between, and `tail`. */
export type Join = (head: string, parts: readonly TextPiece[], tail: string) => Answer;

/** A piece of an answer that is kept as text, with its length in UTF-8. */
export interface TextPiece {
  readonly text: string;
  readonly byteLength: number;
}

export function textPiece(text: string): TextPiece {
  return { text, byteLength: Buffer.byteLength(text) };
}

/** Of answers with what was asked. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;

/** Answers made from the snapshot: tagged, and kept as bytes (gzipped, too) while the snapshot stays the same. */
export function createAnswers() {
  // Each process counts versions from the start, so a random part keeps tags of different runs apart.
  const run = Bun.randomUUIDv7().slice(-12);
  const kept = new Map<string, Answer>();
  let keptBytes = 0;
  let version = -1;
  /** Gzipped answers, for as long as the plain ones are kept. */
  const zips = new WeakMap<Answer, Promise<Answer>>();
  let spare: Buffer<ArrayBuffer>[] = [];

  /**
   * Begins with a new snapshot. Its answers are joined in the buffers of the last one's: a large site's answer is made
   * again after every poll, and 5 MB of garbage each time was seen to cost pauses of 30 ms. A Response copies the bytes
   * it is made of (Fetch standard, "extract a body"), so answers under way are safe.
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
    const pieces = parts.filter(({ byteLength }) => byteLength > 0);
    const length = pieces.reduce(
      (sum, { byteLength }) => sum + byteLength + 1,
      Buffer.byteLength(head) + Buffer.byteLength(tail),
    );
    const fitting = spare.findIndex(({ byteLength }) => byteLength >= length);
    const [buffer = Buffer.alloc(Math.ceil(length * 1.25))] = fitting === -1 ? [] : spare.splice(fitting, 1);
    let end = buffer.write(head);
    for (const [index, { text }] of pieces.entries()) {
      if (index > 0) end += buffer.write(",", end);
      end += buffer.write(text, end);
    }
    end += buffer.write(tail, end);
    return jsonAnswer(buffer.subarray(0, end));
  };

  function keep(what: string, answer: Answer): void {
    const bytes = what.length + answer.body.byteLength;
    if (keptBytes + bytes > MAX_KEPT_BYTES) {
      kept.clear();
      keptBytes = 0;
    }
    kept.set(what, answer);
    keptBytes += bytes;
  }

  function zipOnce(answer: Answer): Promise<Answer> {
    let zip = zips.get(answer);
    if (zip === undefined) {
      // A copy (`slice` of a Buffer is none): the buffer of a joined answer is used again for the next snapshot's.
      zip = zipped({ ...answer, body: new Uint8Array(answer.body) });
      zips.set(answer, zip);
      // The requests that wait get the error; the next request tries again.
      zip.catch(() => zips.delete(answer));
    }
    return zip;
  }

  return {
    /**
     * 304, the kept answer, or a new one. The query has been checked: `make` is called only when it must be. `besides`
     * is what else the answer depends on.
     */
    respond(
      request: Request,
      exchange: Exchange,
      snapshot: Snapshot,
      format: Format,
      make: (join: Join) => Answer,
      besides = "",
    ): Response | Promise<Response> {
      if (snapshot.version !== version) begin(snapshot);
      const audience = exchange.caller?.anonymize === true ? "anonymous" : "";
      const query = exchange.query.replaceAll(/(^|&)_=[^&]*/g, "");
      const what = `${exchange.route?.path} ${exchange.path}?${query}#${format}#${audience}${besides}`;
      const etag = `"${run}-${version}-${Bun.hash(what).toString(36)}"`;
      const held = request.headers.get("if-none-match");
      const tag = [etag, tagOfZipped(etag)].find((one) => matches(held, one));
      if (tag !== undefined) {
        const headers = { etag: tag, ...(tag !== etag && { vary: BY_ENCODING }) };
        return new Response(null, { status: 304, headers });
      }
      let answer = kept.get(what);
      if (answer === undefined) {
        const { body, headers } = make(join);
        answer = { body, headers: { ...headers, etag } };
        keep(what, answer);
      }
      return send(request, answer, zipOnce);
    },
  };
}

/** True when `If-None-Match` holds the tag (weak comparison, RFC 9110 13.1.2). */
export function matches(ifNoneMatch: string | null, tag: string): boolean {
  if (ifNoneMatch === null) return false;
  return ifNoneMatch.split(",").some((part) => ["*", tag, `W/${tag}`].includes(part.trim()));
}

/**
 * Something made of one server's picture and kept as long as the picture lives. Pictures are immutable, so after a poll
 * of one server only that server's part is made again. What is made of an anonymous picture never reaches another one.
 */
export function perPicture<T extends object>(
  make: (picture: ServerPicture) => T,
): (picture: ServerPicture) => T {
  const kept = new WeakMap<ServerPicture, T>();
  return (picture) => {
    const known = kept.get(picture);
    if (known !== undefined) return known;
    const made = make(picture);
    kept.set(picture, made);
    return made;
  };
}
