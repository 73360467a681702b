/** Guards against what hangs: no test is about how quick a machine is. */
export const UNTIL_DEADLINE_MS = 60_000;

/** Asks again and again until there is an answer other than undefined; throws when that takes too long. */
export async function until<T>(
  what: string,
  ask: () => T | undefined | Promise<T | undefined>,
  deadlineMs = UNTIL_DEADLINE_MS,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) throw new Error(`waited ${deadlineMs} ms in vain: ${what}`);
    await Bun.sleep(20);
  }
}

/** Gathers what a program prints on some streams: the text so far, and when all of them have ended. */
export function gather(...streams: readonly ReadableStream<Uint8Array>[]) {
  let text = "";
  const listen = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) text += decoder.decode(bytes, { stream: true });
  };
  return { text: () => text, done: Promise.all(streams.map(listen)) };
}
