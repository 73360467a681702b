import { signal } from "@preact/signals";
import type { Picture, PictureServer } from "../../domain/live-picture.ts";
import { addressOf, ask, createPatience, PAGE, Refusal } from "../api.ts";
import { ownIds, SITE } from "../here.ts";

export const loadedBytes = signal(0);

/** ETag of the last complete picture. */
let tag = "";

/** The next picture may belong to another viewer. */
export function forgetPicture(): void {
  tag = "";
}

/**
 * Reads the servers with these ids, or all for null. Returns null if the whole picture is unchanged. Throws
 * like `get`, or after 30 s without a byte.
 */
export async function readPicture(ids: readonly string[] | null): Promise<readonly PictureServer[] | null> {
  const path = addressOf("/api/picture", ids === null ? {} : { server: ids });
  const headers = { ...PAGE, ...(ids === null && { "if-none-match": tag }) };
  const { signal, heard } = createPatience();
  const response = await ask(path, { cache: "no-store", headers, signal });
  if (response.status === 304) return null;
  if (response.status === 204) throw new Refusal(401, "AUTH_MISSING", "", null, null);
  const { servers } = JSON.parse(ownIds(await textOf(response, heard), SITE)) as Picture;
  if (ids === null) tag = response.headers.get("etag") ?? "";
  return servers;
}

async function textOf({ body }: Response, heard: () => void): Promise<string> {
  const decoder = new TextDecoder();
  const reader = body?.getReader();
  let text = "";
  loadedBytes.value = 0;
  for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
    text += decoder.decode(read.value, { stream: true });
    heard();
    loadedBytes.value += read.value.byteLength;
  }
  return text;
}
