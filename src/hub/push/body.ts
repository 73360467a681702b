import { promisify } from "node:util";
import { gunzip, zstdDecompress } from "node:zlib";
import { codeOf } from "../../domain/error-code.ts";
import { ApiError } from "../../domain/errors.ts";
import { MAX_PACKED_BYTES, MAX_UNPACKED_BYTES } from "../../fleet/protocol.ts";
import { tooLarge } from "../../http/body.ts";

/** 200 MB of zeros are 6 KB of zstd: what comes out is counted while it is unpacked. */
const BOUNDED = { maxOutputLength: MAX_UNPACKED_BYTES };
const UNPACK = {
  zstd: (bytes: Uint8Array) => promisify(zstdDecompress)(bytes, BOUNDED),
  gzip: (bytes: Uint8Array) => promisify(gunzip)(bytes, BOUNDED),
};

/** The JSON of a push, bounded packed and unpacked. Throws BODY_TOO_LARGE or INVALID_JSON. */
export async function readPacked(request: Request): Promise<unknown> {
  const encoding = request.headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  const unpack = Object.hasOwn(UNPACK, encoding) ? UNPACK[encoding as keyof typeof UNPACK] : null;
  if (unpack === null)
    throw new ApiError("INVALID_JSON", "A push comes under Content-Encoding: zstd, or gzip.");
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
    throw new ApiError("INVALID_JSON", `The body is cut, or no ${encoding}.`);
  }
  try {
    return parseStorable(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new ApiError("INVALID_JSON", "The body is not valid JSON in UTF-8.");
  }
}

/** JSON can only escape these two. */
const SUSPECT = /\\u(?:0000|d[89a-f])/i;

/** PostgreSQL's texts hold no NUL, and UTF-8 no half of a surrogate pair: both become U+FFFD, in names of fields too. */
function parseStorable(json: string): unknown {
  if (!SUSPECT.test(json)) return JSON.parse(json);
  const storable = (text: string) => text.replaceAll("\0", "\uFFFD").toWellFormed();
  return JSON.parse(json, (_, value: unknown) => {
    if (typeof value === "string") return storable(value);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [storable(name), inner]));
  });
}
