import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { makePrivateFile, syncToDisk } from "../files.ts";
import { errorCode } from "../store-error.ts";
import type { VitalRows } from "./rows.ts";

/** The side copy as it was read: what it holds, and when that was true (epoch ms). */
export interface Vital {
  readonly writtenAt: number;
  readonly rows: VitalRows;
}

/** First line of the file; the second is the content, of which this has the hash. */
interface Head {
  readonly format: "licmond vital 1";
  readonly writtenAt: number;
  readonly sha256: string;
}

const FORMAT: Head["format"] = "licmond vital 1";

/**
 * A copy of what is small and vital beside the database (`licmond.db.vital`), for the day on which the database is
 * damaged: another file, which is only ever exchanged whole. Two lines of JSON, the first with the hash of the second.
 */
export interface VitalFile {
  /**
   * Puts this in place of what was there, on the disk when it returns; nothing where this process wrote the same last.
   * One writer at a time: the caller holds a write transaction, or the directory. Throws what the file system throws.
   */
  write(rows: VitalRows, now: number): void;
  /** Null when there is none. `fault` says why one that is there cannot be used. */
  read(): { readonly vital: Vital | null; readonly fault: string | null };
  remove(): void;
}

export function createVitalFile(databasePath: string): VitalFile {
  const path = `${databasePath}.vital`;
  const part = `${path}-new`;
  let last: { readonly content: string; readonly ino: number } | null = null;

  return {
    write(rows, now) {
      const content = JSON.stringify(rows, encode);
      if (last?.content === content && last.ino === inodeOf(path)) return;
      const head: Head = { format: FORMAT, writtenAt: now, sha256: hashOf(content) };
      // A process that was killed may have left one.
      rmSync(part, { force: true });
      try {
        makePrivateFile(part, dirname(part));
        fill(part, `${JSON.stringify(head)}\n${content}\n`);
        renameSync(part, path);
      } catch (error) {
        rmSync(part, { force: true });
        throw error;
      }
      syncToDisk(dirname(path));
      last = { content, ino: inodeOf(path) };
    },

    read() {
      let text: string;
      try {
        text = readFileSync(path, "utf8");
      } catch (error) {
        if (errorCode(error) === "ENOENT") return { vital: null, fault: null };
        return { vital: null, fault: `it cannot be read (${errorCode(error)})` };
      }
      const vital = parse(text);
      return { vital, fault: vital === null ? "it is damaged too" : null };
    },

    remove() {
      rmSync(path, { force: true });
      last = null;
    },
  };
}

function fill(path: string, text: string): void {
  const file = openSync(path, "w");
  try {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function inodeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? 0;
}

function hashOf(content: string): string {
  return new Bun.CryptoHasher("sha256").update(content).digest("hex");
}

/** Null unless it is, to the last byte, what was written. */
function parse(text: string): Vital | null {
  const [first = "", content = ""] = text.split("\n");
  try {
    const head: Partial<Head> = JSON.parse(first);
    const { format, sha256, writtenAt } = head;
    if (format !== FORMAT || sha256 !== hashOf(content) || typeof writtenAt !== "number") return null;
    return { writtenAt, rows: JSON.parse(content, decode) };
  } catch {
    // Its first line is no JSON.
    return null;
  }
}

/** JSON has no bytes: `{ "hex": … }`. `this` because a Buffer has been through its own toJSON when it comes here. */
function encode(this: unknown, key: string, value: unknown): unknown {
  const raw: unknown = typeof this === "object" && this !== null ? Reflect.get(this, key) : value;
  return raw instanceof Uint8Array ? { hex: Buffer.from(raw).toString("hex") } : value;
}

function decode(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("hex" in value)) return value;
  return typeof value.hex === "string" ? new Uint8Array(Buffer.from(value.hex, "hex")) : value;
}
