import { StoreError } from "../../../src/store/database/store-error.ts";

/** Only root can give files away. */
export const isRoot = process.getuid?.() === 0;
export const NOBODY = 65534;

/** Told nothing of its steps, and never ended early. */
export const quiet = { onStep: () => {}, signal: new AbortController().signal };

/** The error with which something was refused; throws when it was not. */
export async function refusal(work: Promise<unknown>): Promise<StoreError> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof StoreError) return error;
  throw new Error(`it was not refused: ${String(error)}`);
}
