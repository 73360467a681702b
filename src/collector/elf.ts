import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/** What an ELF header says about how its file wants to be started (System V ABI, chapters 4 and 5). */
export interface ElfFile {
  readonly bits: 32 | 64;
  /** `e_machine`, e.g. 62 = x86-64. */
  readonly machine: number;
  /** The program interpreter (PT_INTERP), i.e. the loader; null in a static file. */
  readonly interpreter: string | null;
}

/** Names of machines, for people. Anything else is shown by its number. */
const MACHINES: Readonly<Record<number, string>> = {
  2: "SPARC",
  3: "32-bit x86",
  8: "MIPS",
  15: "PA-RISC",
  20: "PowerPC",
  21: "PowerPC 64",
  22: "S/390",
  40: "32-bit ARM",
  43: "SPARC V9",
  50: "Itanium",
  62: "x86-64",
  183: "ARM 64",
  243: "RISC-V",
};

export const EM_386 = 3;
export const EM_ARM = 40;
export const EM_X86_64 = 62;
export const EM_AARCH64 = 183;

const PT_INTERP = 3;
const MAX_PROGRAM_HEADERS = 256;
const MAX_INTERPRETER = 4096;

export function machineName(machine: number): string {
  return MACHINES[machine] ?? `machine ${machine}`;
}

/** True when the bytes begin as an ELF file does. */
export function isElf(head: Uint8Array): boolean {
  return head[0] === 0x7f && head[1] === 0x45 && head[2] === 0x4c && head[3] === 0x46;
}

/**
 * Reads the header of an ELF file, 32 or 64 bit, in either byte order.
 * Null when the file is none or its header does not hold together. Throws what opening the file throws.
 */
export function readElf(path: string): ElfFile | null {
  // A named pipe, whatever it does there, would have this wait for somebody to write.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) return null;
    return parseElf((position, length) => {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(file, bytes, 0, length, position));
    });
  } finally {
    closeSync(file);
  }
}

/** Reads up to `length` bytes at `position`. */
export type ReadAt = (position: number, length: number) => Uint8Array;

export function parseElf(readAt: ReadAt): ElfFile | null {
  const head = readAt(0, 64);
  if (!isElf(head) || head.length < 52) return null;
  const wide = head[4] === 2;
  if (!wide && head[4] !== 1) return null;
  if (wide && head.length < 64) return null;
  const little = head[5] === 1;
  if (!little && head[5] !== 2) return null;

  const header = view(head);
  const bits = wide ? 64 : 32;
  const machine = header.getUint16(18, little);
  const tableAt = wide ? Number(header.getBigUint64(32, little)) : header.getUint32(28, little);
  const entrySize = header.getUint16(wide ? 54 : 42, little);
  const count = header.getUint16(wide ? 56 : 44, little);
  if (count === 0) return { bits, machine, interpreter: null };
  if (count > MAX_PROGRAM_HEADERS || entrySize < (wide ? 56 : 32) || !Number.isSafeInteger(tableAt))
    return null;

  const table = readAt(tableAt, count * entrySize);
  if (table.length < count * entrySize) return null;
  const entries = view(table);
  for (let at = 0; at < table.length; at += entrySize) {
    if (entries.getUint32(at, little) !== PT_INTERP) continue;
    const offset = wide ? Number(entries.getBigUint64(at + 8, little)) : entries.getUint32(at + 4, little);
    const size = wide ? Number(entries.getBigUint64(at + 32, little)) : entries.getUint32(at + 16, little);
    if (!Number.isSafeInteger(offset) || size > MAX_INTERPRETER) return null;
    const text = new TextDecoder().decode(readAt(offset, size));
    return { bits, machine, interpreter: text.split("\0", 1)[0] ?? "" };
  }
  return { bits, machine, interpreter: null };
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
