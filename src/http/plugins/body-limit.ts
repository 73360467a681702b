import { Elysia } from "elysia";
import { ApiError } from "../../domain/errors.ts";

/**
 * Step 7, first half: a body that says it is too long is refused before a byte of it is read. One that does
 * not say (chunked) is counted while it is read: {@link readBytes}.
 */
export function bodyLimit(maxBytes: () => number) {
  return new Elysia({ name: "body-limit" }).onRequest(({ request }) => {
    const length = request.headers.get("content-length");
    if (length !== null && Number(length) > maxBytes()) throw tooLarge(maxBytes());
  });
}

/** The bytes of a body, at most `maxBytes`; empty when there is none. */
export async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body) {
    length += chunk.byteLength;
    if (length > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError("BODY_TOO_LARGE", `A request body may have ${maxBytes} bytes at most.`, {
    // What is left of the body is not read: the connection cannot be used again.
    headers: { connection: "close" },
  });
}
