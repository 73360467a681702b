import { join } from "node:path";
import { buildPage, type Encoding } from "../../../scripts/lib/page.ts";

/** A file of the page, in the forms in which it is kept. */
export interface PageFile {
  /** Path below the page's address. */
  readonly name: string;
  readonly type: string;
  /** Names the content, the same for each form. */
  readonly etag: string;
  readonly forms: Readonly<Record<Encoding, Blob>>;
}

/**
 * The page's files, built from the sources at this call. The executable has another module here, with the built files
 * inside (`withPage` of `scripts/lib/page.ts`).
 */
export async function pageFiles(): Promise<readonly PageFile[]> {
  const { files } = await buildPage(join(import.meta.dir, "../../.."));
  return files.map(({ forms, ...file }) => ({
    ...file,
    forms: { gzip: new Blob([forms.gzip]), br: new Blob([forms.br]) },
  }));
}
