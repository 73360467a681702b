export interface ArchiveFile {
  /** Relative path with `/`. Folders need no entry. */
  readonly path: string;
  readonly content: Uint8Array;
  readonly executable?: boolean;
}

const BLOCK = 512;
/**
 * Maximum length of a path. A longer one would need the prefix field of the ustar header, which this
 * archive does not use.
 */
const MAX_PATH = 99;

/**
 * Creates a tar archive (POSIX ustar) packed by gzip. Its bytes depend only on the files and the time: sorted names, owner
 * root, one time (seconds since 1970), no name or time in the gzip header, and libdeflate, which gives equal bytes on every
 * CPU.
 */
export function tarGz(files: readonly ArchiveFile[], epoch: number): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [];
  for (const { path, content, executable } of sorted(files)) {
    parts.push(tarHeader(path, content.length, executable === true ? 0o755 : 0o644, epoch), content);
    parts.push(new Uint8Array((BLOCK - (content.length % BLOCK)) % BLOCK));
  }
  parts.push(new Uint8Array(2 * BLOCK));
  return Bun.gzipSync(Buffer.concat(parts), { library: "libdeflate", level: 9 });
}

function tarHeader(path: string, size: number, mode: number, epoch: number): Uint8Array {
  if (path.length > MAX_PATH || !/^[\x21-\x7e]+$/.test(path))
    throw new Error(`${path} is not a valid name in a tar file`);
  const header = Buffer.alloc(BLOCK);
  const octal = (at: number, length: number, value: number) =>
    header.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at, "latin1");
  header.write(path, 0, "latin1");
  octal(100, 8, mode);
  octal(108, 8, 0);
  octal(116, 8, 0);
  octal(124, 12, size);
  octal(136, 12, epoch);
  header.write("        0", 148, "latin1");
  header.write("ustar\x0000root", 257, "latin1");
  header.write("root", 297, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return header;
}

const UNIX = 3;
const ZIP_VERSION = 20;
const DEFLATED = 8;

/** Creates a zip archive (PKWARE APPNOTE 6.3.3, without zip64). Its bytes depend only on the files and the time. */
export function zip(files: readonly ArchiveFile[], epoch: number): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const { path, content, executable } of sorted(files)) {
    const packed = Bun.deflateSync(new Uint8Array(content), { library: "libdeflate", level: 9 });
    const name = new TextEncoder().encode(path);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(ZIP_VERSION, 0);
    common.writeUInt16LE(DEFLATED, 4);
    common.writeUInt32LE(dosTime(epoch), 6);
    common.writeUInt32LE(Bun.hash.crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(name.length, 22);
    parts.push(Buffer.from("PK\x03\x04", "latin1"), common, name, packed);

    const entry = Buffer.alloc(46);
    entry.write("PK\x01\x02", "latin1");
    entry.writeUInt16LE((UNIX << 8) | ZIP_VERSION, 4);
    common.copy(entry, 6);
    entry.writeUInt32LE(((executable === true ? 0o100755 : 0o100644) << 16) >>> 0, 38);
    entry.writeUInt32LE(offset, 42);
    directory.push(entry, name);
    offset += 4 + common.length + name.length + packed.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, listed, end]);
}

/** Converts to MS-DOS date and time, in steps of two seconds, UTC. */
function dosTime(epoch: number): number {
  const at = new Date(epoch * 1000);
  const day = ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate();
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
  return ((day << 16) | time) >>> 0;
}

function sorted(files: readonly ArchiveFile[]): ArchiveFile[] {
  return [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
}
