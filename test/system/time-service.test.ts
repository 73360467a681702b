import { expect, test } from "bun:test";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isClockSynchronised } from "../../src/system/host-info.ts";

test.each([
  ["synchronised", '[ "$*" = "show --property=NTPSynchronized --value" ] && echo yes', true],
  ["not synchronised", "echo no", false],
  ["no systemd to ask", "echo 'Failed to connect to bus' >&2; exit 1", false],
])("timedatectl: %s", async (_, script, expected) => {
  const folder = await mkdtemp(join(tmpdir(), "licmond-time-"));
  try {
    const program = join(folder, "timedatectl");
    await Bun.write(program, `#!/bin/sh\n${script}\n`);
    await chmod(program, 0o755);
    expect(await isClockSynchronised(folder)).toBe(expected);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("without timedatectl nothing is known", async () => {
  expect(await isClockSynchronised("/nowhere")).toBe(false);
  expect(await isClockSynchronised(undefined)).toBe(false);
});
