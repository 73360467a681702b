import { signal } from "@preact/signals";
import type { Me, Permission } from "../domain/keys.ts";
import { get } from "./api.ts";

/** Who is signed in, or the viewer of a page that is public; null while that is not known, and for nobody. */
export const me = signal<Me | null>(null);

export const may = (what: Permission): boolean => me.value?.permissions.includes(what) ?? false;

/** What is known not to be allowed: a question whose answer did not come withholds nothing. */
export const mayNot = (what: Permission): boolean => me.value !== null && !may(what);

/** False when nobody is signed in. What fails here is told by the picture, which is asked for next. */
export async function loadMe(): Promise<boolean> {
  try {
    me.value = await get("/api/me");
    return me.value !== null;
  } catch {
    return true;
  }
}
