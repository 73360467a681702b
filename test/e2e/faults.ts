import { rmSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export async function smallDisk(folder: string, megabytes: number): Promise<AsyncDisposable> {
  await mkdir(folder, { recursive: true });
  const mounted = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder]);
  if (!mounted.success) throw new Error(`mount: ${mounted.stderr}`);
  return { [Symbol.asyncDispose]: async () => void Bun.spawnSync(["umount", "-l", folder]) };
}

/**
 * Reports whether this process may mount, which containers may forbid even to root. If not, prints that
 * `what` is skipped.
 */
export async function mayMount(what: string): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), "licmond-mount-"));
  try {
    await (await smallDisk(folder, 1))[Symbol.asyncDispose]();
    return true;
  } catch (error) {
    console.error(`${what} is skipped: ${String(error)}`);
    return false;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Fills the file system of a folder. The returned function frees the space. */
export function fill(folder: string): () => void {
  const ballast = join(folder, "ballast");
  Bun.spawnSync(["dd", "if=/dev/zero", `of=${ballast}`, "bs=4k"], { stderr: "ignore" });
  return () => rmSync(ballast);
}

const HOLDER = `
  const sqlite = new (require("bun:sqlite").Database)(process.argv[1]);
  sqlite.run("PRAGMA busy_timeout = 30000");
  sqlite.run("BEGIN IMMEDIATE");
  console.log("held");
  await Bun.stdin.text();
  sqlite.run("ROLLBACK");`;

/** Holds the write lock of a database in another process until the returned function is called. */
export async function holdLock(database: string): Promise<() => Promise<void>> {
  const holder = Bun.spawn([process.execPath, "-e", HOLDER, database], { stdin: "pipe", stdout: "pipe" });
  const { value: said } = await holder.stdout.getReader().read();
  if (new TextDecoder().decode(said) !== "held\n") throw new Error("the lock could not be taken");
  return async () => {
    holder.stdin.end();
    await holder.exited;
  };
}
