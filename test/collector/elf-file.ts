export interface ElfShape {
  readonly bits: 32 | 64;
  readonly little: boolean;
  readonly machine: number;
  readonly interpreter: string | null;
}

/** The bytes of an ELF file that has a header, one PT_LOAD and, if asked for, one PT_INTERP, and no code. */
export function elfFile({ bits, little, machine, interpreter }: ElfShape): Uint8Array {
  const wide = bits === 64;
  const headerSize = wide ? 64 : 52;
  const entrySize = wide ? 56 : 32;
  const count = interpreter === null ? 1 : 2;
  const textAt = headerSize + count * entrySize;
  const text = new TextEncoder().encode(`${interpreter ?? ""}\0`);
  const bytes = new Uint8Array(textAt + text.length);
  const view = new DataView(bytes.buffer);

  bytes.set([0x7f, 0x45, 0x4c, 0x46, wide ? 2 : 1, little ? 1 : 2, 1]);
  view.setUint16(16, 2, little);
  view.setUint16(18, machine, little);
  view.setUint32(20, 1, little);
  if (wide) view.setBigUint64(32, BigInt(headerSize), little);
  else view.setUint32(28, headerSize, little);
  view.setUint16(wide ? 54 : 42, entrySize, little);
  view.setUint16(wide ? 56 : 44, count, little);

  view.setUint32(headerSize, 1, little);
  if (interpreter !== null) {
    const entry = headerSize + entrySize;
    view.setUint32(entry, 3, little);
    if (wide) {
      view.setBigUint64(entry + 8, BigInt(textAt), little);
      view.setBigUint64(entry + 32, BigInt(text.length), little);
    } else {
      view.setUint32(entry + 4, textAt, little);
      view.setUint32(entry + 16, text.length, little);
    }
  }
  bytes.set(text, textAt);
  return bytes;
}
