/** Bytes at most that are kept of a stream longer than its cap: enough to see what it was. */
const HEAD_BYTES = 1024 * 1024;

export type CappedReader = ReturnType<typeof readCapped>;

/**
 * Reads `stream` to its end, so that a pipe nobody reads cannot pile up in memory: all of it up to a cap, the head alone
 * of a longer one. `onOverflow` is called once, with the first byte beyond `maxBytes`.
 */
export function readCapped(stream: ReadableStream<Uint8Array>, maxBytes: number, onOverflow = () => {}) {
  const reader = stream.getReader();
  let kept: Uint8Array[] = [];
  let length = 0;
  let truncated = false;
  let chunks = 0;

  function take(chunk: Uint8Array): void {
    chunks++;
    if (truncated) return;
    kept.push(chunk);
    length += chunk.length;
    if (length <= maxBytes) return;
    truncated = true;
    length = Math.min(maxBytes, HEAD_BYTES);
    // A copy, so that the head does not hold the chunks.
    kept = [Buffer.concat(kept, length)];
    onOverflow();
  }

  async function pump(): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        take(value);
      }
    } catch {
      // A pipe that breaks ends the output like one that closes: the exit status tells the rest.
    }
  }

  return {
    /** Settles at the end of the stream, or when it was let go. Never rejects. */
    ended: pump(),
    /** True when there was more than the cap. */
    get truncated() {
      return truncated;
    },
    /** Counts every chunk, also those thrown away: tells whether a process still writes. */
    get chunks() {
      return chunks;
    },
    /** Stops reading; what was read stays. */
    letGo: () => void reader.cancel().catch(() => {}),
    /** The stream, or its first 1 MiB (or cap, if that is less) when it was longer than the cap. */
    bytes: (): Uint8Array => (kept.length === 1 && kept[0]) || Buffer.concat(kept, length),
  };
}
