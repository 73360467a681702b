/** Bytes at most that are kept of a stream longer than its cap: enough to see what it was. */
const HEAD_BYTES = 1024 * 1024;

/** A whole stream up to a cap, and only the head of a longer one; the rest is read and thrown away. */
export interface CappedReader {
  /** Settles at the end of the stream, or when it was let go. Never rejects. */
  readonly ended: Promise<void>;
  /** True when there was more than the cap. */
  readonly truncated: boolean;
  /** Counts every chunk, also those thrown away: tells whether anybody still writes. */
  readonly chunks: number;
  /** Stops reading; what was read stays. */
  letGo(): void;
  /** The stream, or its first 1 MiB (or cap, if that is less) when it was longer than the cap. */
  bytes(): Uint8Array;
}

/**
 * Reads `stream` to its end, so that a pipe nobody reads cannot pile up in memory.
 * `onOverflow` is called once, with the first byte beyond `maxBytes`.
 */
export function readCapped(
  stream: ReadableStream<Uint8Array>,
  maxBytes: number,
  onOverflow: () => void = () => {},
): CappedReader {
  const reader = stream.getReader();
  let kept: Uint8Array[] = [];
  let length = 0;
  let truncated = false;
  let chunks = 0;

  const take = (chunk: Uint8Array) => {
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
  };

  const pump = async () => {
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        take(value);
      }
    } catch {
      // A pipe that breaks ends the output like one that closes: the exit status tells the rest.
    }
  };

  return {
    ended: pump(),
    get truncated() {
      return truncated;
    },
    get chunks() {
      return chunks;
    },
    letGo() {
      reader.cancel().catch(() => {});
    },
    bytes() {
      const [only] = kept;
      if (kept.length === 1 && only !== undefined) return only;
      const all = Buffer.concat(kept, length);
      // Not held twice while the caller works on it.
      kept = [all];
      return all;
    },
  };
}
