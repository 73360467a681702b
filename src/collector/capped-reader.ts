/** The beginning of a stream, kept up to a cap; what comes after it is read and thrown away. */
export interface CappedReader {
  /** Settles at the end of the stream, or when it was let go. Never rejects. */
  readonly ended: Promise<void>;
  /** True when there was more than the cap. */
  readonly truncated: boolean;
  /** Counts every chunk, also those thrown away: tells whether anybody still writes. */
  readonly chunks: number;
  /** Stops reading; what was read stays. */
  letGo(): void;
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
  const kept: Uint8Array[] = [];
  let length = 0;
  let truncated = false;
  let chunks = 0;

  const take = (chunk: Uint8Array) => {
    chunks++;
    const room = maxBytes - length;
    if (chunk.length <= room) {
      kept.push(chunk);
      length += chunk.length;
      return;
    }
    if (room > 0) {
      // A copy, so that a small rest does not hold a large chunk.
      kept.push(chunk.slice(0, room));
      length += room;
    }
    if (truncated) return;
    truncated = true;
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
      return Buffer.concat(kept, length);
    },
  };
}
