import { signal } from "@preact/signals";
import type { Picture, PictureServer } from "../../domain/live-picture.ts";
import { addressOf, ask, createPatience, PAGE, Refusal } from "../api.ts";
import { ownIds, SITE } from "../here.ts";

/** Bytes of the picture that have come while it is read. */
export const loadedBytes = signal(0);

/** Names the whole picture that was read last. */
let tag = "";

/** The next picture may be another caller's. */
export function forgetPicture(): void {
  tag = "";
}

/**
 * Reads the servers of these ids, all for null. Answers null when the whole is still what was read last. Throws as `get`
 * does, or after 30 s without a byte.
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
