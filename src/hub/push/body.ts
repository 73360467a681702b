import { promisify } from "node:util";
import { gunzip, zstdDecompress } from "node:zlib";
import { codeOf } from "../../domain/error-code.ts";
import { ApiError } from "../../domain/errors.ts";
import { MAX_PACKED_BYTES, MAX_UNPACKED_BYTES } from "../../fleet/protocol.ts";
import { tooLarge } from "../../http/body.ts";

/** 200 MB of zeros compress to 6 KB of zstd, so limit the output while decompressing. */
const BOUNDED = { maxOutputLength: MAX_UNPACKED_BYTES };
const UNPACK = {
  zstd: (bytes: Uint8Array) => promisify(zstdDecompress)(bytes, BOUNDED),
  gzip: (bytes: Uint8Array) => promisify(gunzip)(bytes, BOUNDED),
};

/** Returns the JSON of a push, limited both packed and unpacked. Throws BODY_TOO_LARGE or INVALID_JSON. */
export async function readPacked(request: Request): Promise<unknown> {
  const encoding = request.headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  const unpack = Object.hasOwn(UNPACK, encoding) ? UNPACK[encoding as keyof typeof UNPACK] : null;
  if (unpack === null) throw new ApiError("INVALID_JSON", "A push needs Content-Encoding: zstd or gzip.");
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength;
    if (length > MAX_PACKED_BYTES) throw tooLarge(MAX_PACKED_BYTES);
    chunks.push(chunk);
  }
  let bytes: Uint8Array;
  try {
    bytes = await unpack(Buffer.concat(chunks));
  } catch (error) {
    if (codeOf(error) === "ERR_BUFFER_TOO_LARGE") throw tooLarge(MAX_UNPACKED_BYTES);
    throw new ApiError("INVALID_JSON", `The body is truncated or not valid ${encoding}.`);
  }
  try {
    return parseStorable(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new ApiError("INVALID_JSON", "The body is not valid JSON in UTF-8.");
  }
}

/** Valid JSON contains these characters only as escapes. */
const SUSPECT = /\\u(?:0000|d[89a-f])/i;

/**
 * PostgreSQL's texts cannot contain NUL or lone surrogates: replaces them with U+FFFD, in field names too.
 */
function parseStorable(json: string): unknown {
  if (!SUSPECT.test(json)) return JSON.parse(json);
  const storable = (text: string) => text.replaceAll("\0", "\uFFFD").toWellFormed();
  return JSON.parse(json, (_, value: unknown) => {
    if (typeof value === "string") return storable(value);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [storable(name), inner]));
  });
}
