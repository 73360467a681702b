/** Set-up that the tests of a `describe` share: created before the first test, removed after the last. */
import { afterAll, beforeAll } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../../scripts/lib/compile.ts";
import { createMachine, type Machine } from "./machine.ts";
import { ROOT } from "./service.ts";

/** Later than any real version. */
export const NEXT_VERSION = "99.0.0";

/** A machine that a file's tests share; each test continues from the state of the one before. */
export function bootedMachine(prepare: (machine: Machine) => Promise<void>): Machine {
  const machine = createMachine();
  // Hooks run in the order of registration.
  beforeAll(async () => {
    await machine.boot();
    await prepare(machine);
  });
  afterAll(() => machine[Symbol.asyncDispose]());
  return machine;
}

/** Builds the same sources with a later version. The result is available when the tests run. */
export function nextVersion(): () => NextVersion {
  let made: NextVersion | null = null;
  beforeAll(async () => {
    made = await buildNextVersion();
  });
  afterAll(() => made?.[Symbol.asyncDispose]());
  return () => {
    if (made === null) throw new Error("it is made before the tests, and there only while they run");
    return made;
  };
}

interface NextVersion extends AsyncDisposable {
  /** Path of the binary. */
  readonly path: string;
  /** Temporary folder for files made from the binary. */
  readonly folder: string;
}

async function buildNextVersion(): Promise<NextVersion> {
  const folder = await mkdtemp(join(tmpdir(), "licmond-next-"));
  const path = join(folder, "licmond");
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    await compile({ root: ROOT, outfile: path, version: NEXT_VERSION, commit: "unknown" });
    return { path, folder, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
