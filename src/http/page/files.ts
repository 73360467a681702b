import { join } from "node:path";
import { buildPage, type Encoding } from "../../../scripts/lib/page.ts";

export interface PageFile {
  readonly name: string;
  readonly type: string;
  /** Tag of the file, the same for all encodings. */
  readonly etag: string;
  readonly forms: Readonly<Record<Encoding, Blob>>;
}

/**
 * Builds the page's files from the sources. In the binary, `withPage` of `scripts/lib/page.ts` replaces this module
 * by the built files.
 */
export async function pageFiles(): Promise<readonly PageFile[]> {
  const { files } = await buildPage(join(import.meta.dir, "../../.."));
  return files.map(({ forms, ...file }) => ({
    ...file,
    forms: { gzip: new Blob([forms.gzip]), br: new Blob([forms.br]) },
  }));
}
