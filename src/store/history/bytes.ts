/** Whole numbers from 0 on as bytes: seven bits each, the lowest first, the high bit says that more follow (LEB128). */
export interface ByteWriter {
  byte(value: number): void;
  /** Throws RangeError on what is no whole number from 0 to 2^53 - 1. */
  number(value: number): void;
  /** Of either sign: 0, -1, 1, -2, … as 0, 1, 2, 3, … */
  signed(value: number): void;
  bytes(value: Uint8Array): void;
  /** What was written, in memory of its own. */
  take(): Uint8Array;
  readonly length: number;
}

export interface ByteReader {
  byte(): number;
  number(): number;
  signed(): number;
  /** Where the next read begins. */
  readonly at: number;
  readonly left: number;
}

export function createByteWriter(): ByteWriter {
  let buffer = new Uint8Array(64);
  let length = 0;

  function reserve(more: number): void {
    if (length + more <= buffer.length) return;
    const larger = new Uint8Array(Math.max(buffer.length * 2, length + more));
    larger.set(buffer.subarray(0, length));
    buffer = larger;
  }

  function number(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} cannot be packed`);
    reserve(8);
    let rest = value;
    while (rest >= 128) {
      buffer[length++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    buffer[length++] = rest;
  }

  return {
    byte(value) {
      reserve(1);
      buffer[length++] = value;
    },
    number,
    signed: (value) => number(value < 0 ? -value * 2 - 1 : value * 2),
    bytes(value) {
      reserve(value.length);
      buffer.set(value, length);
      length += value.length;
    },
    take: () => buffer.slice(0, length),
    get length() {
      return length;
    },
  };
}

/** Throws RangeError where the bytes end too early. */
export function createByteReader(bytes: Uint8Array, from = 0): ByteReader {
  let at = from;

  function byte(): number {
    const value = bytes[at++];
    if (value === undefined) throw new RangeError("packed history ends too early");
    return value;
  }

  function number(): number {
    let value = byte();
    if (value < 128) return value;
    value -= 128;
    let scale = 128;
    for (;;) {
      const next = byte();
      value += (next & 127) * scale;
      if (next < 128) return value;
      scale *= 128;
    }
  }

  return {
    byte,
    number,
    signed() {
      const value = number();
      return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
    },
    get at() {
      return at;
    },
    get left() {
      return bytes.length - at;
    },
  };
}
