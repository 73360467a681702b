import { Database } from "bun:sqlite";
import { readFileSync, writeFileSync } from "node:fs";

export const PAGE = 4096;

export const noise = (bytes: number) => new Uint8Array(bytes).fill(0xa5);

export function overwrite(path: string, at: number, bytes: Uint8Array): void {
  const content = readFileSync(path);
  content.set(bytes.subarray(0, Math.max(0, content.length - at)), at);
  writeFileSync(path, content);
}

/** Overwrites one page, counted from 1, with a byte. */
export function fillPage(path: string, page: number, byte = 0xa5): void {
  overwrite(path, (page - 1) * PAGE, new Uint8Array(PAGE).fill(byte));
}

/** Returns the pages of a table, counted from 1: its root or its leaves. */
export function pagesOf(path: string, table: string, only: "root" | "leaves"): number[] {
  const sqlite = new Database(path, { readonly: true });
  try {
    const condition = only === "root" ? "path = '/'" : "pagetype = 'leaf'";
    return sqlite
      .query<{ pageno: number }, [string]>(
        `SELECT pageno FROM dbstat WHERE name = ? AND ${condition} ORDER BY path`,
      )
      .all(table)
      .map(({ pageno }) => pageno);
  } finally {
    sqlite.close();
  }
}
