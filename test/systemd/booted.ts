/** What the tests of one `describe` share: made before the first of them, taken away after the last. */
import { afterAll, beforeAll } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../../scripts/lib/compile.ts";
import { createMachine, type Machine } from "./machine.ts";
import { ROOT } from "./service.ts";

/** Later than every one that there will be. */
export const NEXT_VERSION = "99.0.0";

/** A machine of the tests' own, on which each goes on from where the one before it left off. */
export function bootedMachine(prepare: (machine: Machine) => Promise<void>): Machine {
  const machine = createMachine();
  // Preparations are done in the order in which they are asked for.
  beforeAll(async () => {
    await machine.boot();
    await prepare(machine);
  });
  afterAll(() => machine[Symbol.asyncDispose]());
  return machine;
}

/** A build of the same sources under a later version; it can be asked for once the tests run. */
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
  /** Of the built binary. */
  readonly path: string;
  /** A folder of its own, for what is made of it. */
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
