/**
 * Seats taken and given back, packed: 60 bytes an event instead of 450, and a hundredth of the rows. Each event is a line, its
 * type and its JSON but for `type` and `id`, with a tab between; JSON has neither raw tabs nor raw line ends.
 */

/** Events in one row: what a client that resumes behind one of them has unpacked in vain. */
export const MAX_PACKED = 200;
/** The fastest one. */
const LEVEL = 1;

export interface PackedEvent {
  readonly type: string;
  readonly body: string;
}

export function packEvents(events: readonly PackedEvent[]): Buffer {
  return Bun.zstdCompressSync(events.map(({ type, body }) => `${type}\t${body}`).join("\n"), {
    level: LEVEL,
  });
}

export function unpackEvents(packed: Uint8Array): PackedEvent[] {
  const lines = Bun.zstdDecompressSync(packed).toString().split("\n");
  return lines.map((line) => {
    const tab = line.indexOf("\t");
    return { type: line.slice(0, tab), body: line.slice(tab + 1) };
  });
}
