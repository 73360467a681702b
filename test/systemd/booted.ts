/** Set-up that the tests of a `describe` share: created before the first test, removed after the last. */
import { afterAll, beforeAll } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../../scripts/lib/compile.ts";
import { createMachine, type Machine } from "./machine.ts";
import { ROOT } from "./service.ts";

/** Version that is later than any real one. */
export const NEXT_VERSION = "99.0.0";

/**
 * Creates a machine for all tests of a file. Each test continues from the state that the previous test
 * left.
 */
export function bootedMachine(prepare: (machine: Machine) => Promise<void>): Machine {
  const machine = createMachine();
  beforeAll(async () => {
    await machine.boot();
    await prepare(machine);
  });
  afterAll(() => machine[Symbol.asyncDispose]());
  return machine;
}

/** Builds the same sources with a later version: `path` of the binary, in a temporary `folder`. */
export function nextVersion() {
  const made = { path: "", folder: "" };
  beforeAll(async () => {
    made.folder = await mkdtemp(join(tmpdir(), "licmond-next-"));
    made.path = join(made.folder, "licmond");
    await compile({ root: ROOT, outfile: made.path, version: NEXT_VERSION, commit: "unknown" });
  });
  afterAll(() => rm(made.folder, { recursive: true, force: true }));
  return () => made;
}
