import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../../scripts/lib/compile.ts";

export const ROOT = join(import.meta.dir, "../..");
/** Later than every one that there will be. */
export const NEXT_VERSION = "99.0.0";

export interface NextVersion extends AsyncDisposable {
  /** Of the built binary. */
  readonly path: string;
  /** Of everything in it. */
  readonly licenses: string;
  /** A folder of its own, for what is made of it. */
  readonly folder: string;
}

/** A build of the same sources under a later version: what an upgrade brings. */
export async function buildNextVersion(): Promise<NextVersion> {
  const folder = await mkdtemp(join(tmpdir(), "licmond-next-"));
  const path = join(folder, "licmond");
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const { licenses } = await compile({
      root: ROOT,
      outfile: path,
      version: NEXT_VERSION,
      commit: "unknown",
    });
    return { path, licenses, folder, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
