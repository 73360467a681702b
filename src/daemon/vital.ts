import type { Store } from "../store/open.ts";

/** The side copy is written this often, where something has changed; each change of a key writes it besides. */
const KEEP_MS = 30_000;

/** Keeps the side copy of what is vital near to the database. The answer ends that; the store's end writes it once more. */
export function keepVitalCopy(store: Store): () => void {
  const timer = setInterval(() => {
    try {
      store.keepVital();
    } catch {
      // The store fails: what cannot be written is told by those who have news, and this comes again.
    }
  }, KEEP_MS);
  return () => clearInterval(timer);
}
