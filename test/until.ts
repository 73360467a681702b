/**
 * Time after which a wait fails, as a guard against a hang. It is far above the time that a slow machine
 * needs.
 */
export const UNTIL_DEADLINE_MS = 60_000;

/** Calls `ask` until it returns something other than undefined. Throws after the deadline. */
export async function until<T>(
  what: string,
  ask: () => T | undefined | Promise<T | undefined>,
  deadlineMs = UNTIL_DEADLINE_MS,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) throw new Error(`timed out after ${deadlineMs} ms: ${what}`);
    await Bun.sleep(20);
  }
}

/** Collects the output of a program. `done` resolves when all streams have ended. */
export function gather(...streams: readonly ReadableStream<Uint8Array>[]) {
  let text = "";
  const listen = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) text += decoder.decode(bytes, { stream: true });
  };
  return { text: () => text, done: Promise.all(streams.map(listen)) };
}
