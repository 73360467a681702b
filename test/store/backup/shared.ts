import { Database } from "bun:sqlite";
import { StoreError } from "../../../src/store/database/store-error.ts";
import { MIGRATIONS } from "../../../src/store/migrations/migrations.ts";

/** Whether this process is root. Only root can change the owner of files. */
export const isRoot = process.getuid?.() === 0;
export const NOBODY = 65534;

export const canMount = isRoot && Bun.spawnSync(["unshare", "-m", "true"]).exitCode === 0;
if (!canMount) console.warn("Mounting is not allowed here: tests of full and read-only disks are skipped");

/** Migrations of a newer licmond. */
export const NEWER = [...MIGRATIONS, { name: "9999-future", sql: "CREATE TABLE future (x TEXT)" }];

export function makeForeign(path: string): void {
  const other = new Database(path, { create: true });
  other.run("CREATE TABLE songs (title TEXT)");
  other.close();
}

/** Returns the StoreError of a refused operation. */
export async function refusal(work: Promise<unknown>): Promise<StoreError> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof StoreError) return error;
  throw new Error(`it was not refused: ${String(error)}`);
}
