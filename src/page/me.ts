import { signal } from "@preact/signals";
import type { Me } from "../domain/keys.ts";
import { get } from "./api.ts";

/** Who is signed in; null while that is not known. */
export const me = signal<Me | null>(null);

/** What fails here is told by the picture, which is asked for at the same time. */
export async function loadMe(): Promise<void> {
  me.value = await get("/api/me").catch(() => null);
}
