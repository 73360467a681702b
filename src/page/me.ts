import { signal } from "@preact/signals";
import type { Me, Permission } from "../domain/keys.ts";
import { get } from "./api.ts";

/** The signed-in caller, or the viewer of a public page; null while unknown, and if no one is signed in. */
export const me = signal<Me | null>(null);

export const may = (what: Permission): boolean => me.value?.permissions.includes(what) ?? false;

/** Reports whether an action is known to be forbidden. Without an answer nothing is withheld. */
export const mayNot = (what: Permission): boolean => me.value !== null && !may(what);

/** Returns false if no one is signed in. The picture, which is requested next, reports failures. */
export async function loadMe(): Promise<boolean> {
  try {
    me.value = await get("/api/me");
    return me.value !== null;
  } catch {
    return true;
  }
}
