import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { takesGzip } from "./format.ts";

/** A whole answer as it goes out. */
export interface Answer {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

const encoder = new TextEncoder();

export function encode(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

export function jsonAnswer(body: Uint8Array<ArrayBuffer>): Answer {
  return { body, headers: { "content-type": "application/json; charset=utf-8" } };
}

export function responseOf({ body, headers }: Answer): Response {
  return new Response(body, { headers: { ...headers } });
}

/** What fits into one packet gains nothing. */
export const LEAST_BYTES = 1_400;

const compress = promisify(gzip);

/**
 * The answer, gzipped where its client takes that. Compressing is done by threads of its own: the event loop goes on.
 * `zip` does it, e.g. one that remembers.
 */
export function send(
  request: Request,
  answer: Answer,
  zip: (answer: Answer) => Promise<Answer> = zipped,
): Response | Promise<Response> {
  const zips = answer.body.byteLength >= LEAST_BYTES && takesGzip(request.headers.get("accept-encoding"));
  return zips ? zip(answer).then(responseOf) : responseOf(answer);
}

/**
 * A cache must not give gzipped bytes to a client that does not take them; plain bytes suit every client. What else an
 * answer varies by is added on its way out.
 */
export const BY_ENCODING = "Accept-Encoding";

/** The answer gzipped. Its body must stay as it is until then. */
export async function zipped({ body, headers }: Answer): Promise<Answer> {
  const { etag } = headers;
  return {
    body: new Uint8Array(await compress(body)),
    headers: {
      ...headers,
      ...(etag !== undefined && { etag: tagOfZipped(etag) }),
      "content-encoding": "gzip",
      vary: BY_ENCODING,
    },
  };
}

/** Other bytes have another strong tag (RFC 9110, 8.8.3.3). */
export function tagOfZipped(etag: string): string {
  return etag.replace(/"$/, '-gzip"');
}
