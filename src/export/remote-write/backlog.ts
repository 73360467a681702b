/** A request that waits to be sent. */
export interface Waiting {
  /** Compressed. */
  readonly body: Uint8Array<ArrayBuffer>;
  readonly samples: number;
  /** Time of its samples, epoch ms. */
  readonly at: number;
}

/** Requests in the order of their samples, bounded by bytes and age: the oldest are thrown away. */
export interface Backlog {
  /** Answers how many samples had to go for it. */
  add(waiting: Waiting, now: number): number;
  first(): Waiting | null;
  /** Takes the first one away, if it is still this one. */
  done(waiting: Waiting): void;
  /** Throws everything away and answers how many samples that were. */
  clear(): number;
  readonly bytes: number;
  readonly samples: number;
}

export interface BacklogBounds {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

export function createBacklog({ maxBytes, maxAgeMs }: BacklogBounds): Backlog {
  let waiting: Waiting[] = [];
  let bytes = 0;
  let samples = 0;

  function shift(): number {
    const gone = waiting.shift();
    bytes -= gone?.body.byteLength ?? 0;
    samples -= gone?.samples ?? 0;
    return gone?.samples ?? 0;
  }

  return {
    add(next, now) {
      waiting.push(next);
      bytes += next.body.byteLength;
      samples += next.samples;
      let dropped = 0;
      for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
        if (first === next || (bytes <= maxBytes && now - first.at <= maxAgeMs)) break;
        dropped += shift();
      }
      return dropped;
    },
    first: () => waiting[0] ?? null,
    done(sent) {
      if (waiting[0] === sent) shift();
    },
    clear() {
      const all = samples;
      waiting = [];
      bytes = 0;
      samples = 0;
      return all;
    },
    get bytes() {
      return bytes;
    },
    get samples() {
      return samples;
    },
  };
}
