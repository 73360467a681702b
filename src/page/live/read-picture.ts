import { signal } from "@preact/signals";
import type { Picture, PictureServer } from "../../domain/live-picture.ts";
import { addressOf, ask, PAGE, Refusal } from "../api.ts";
import { ownIds, SITE } from "../here.ts";

/** Bytes of the picture that have come while it is read. */
export const loadedBytes = signal(0);

/** Names the whole picture that was read last. */
let tag = "";

/** The next picture may be another caller's. */
export function forgetPicture(): void {
  tag = "";
}

/** The servers of these ids, all for null. Null when the whole is still what was read last. Throws as `get` does. */
export async function readPicture(ids: readonly string[] | null): Promise<readonly PictureServer[] | null> {
  const path = addressOf("/api/picture", ids === null ? {} : { server: ids });
  const headers = { ...PAGE, ...(ids === null && { "if-none-match": tag }) };
  const response = await ask(path, { cache: "no-store", headers });
  if (response.status === 304) return null;
  if (response.status === 204) throw new Refusal(401, "AUTH_MISSING", "", null, null);
  const { servers } = JSON.parse(ownIds(await textOf(response), SITE)) as Picture;
  if (ids === null) tag = response.headers.get("etag") ?? "";
  return servers;
}

async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  const reader = body?.getReader();
  let text = "";
  loadedBytes.value = 0;
  for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
    text += decoder.decode(read.value, { stream: true });
    loadedBytes.value += read.value.byteLength;
  }
  return text;
}
