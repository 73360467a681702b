import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Reading } from "../../src/domain/reading.ts";
import type { ManagerName } from "../../src/domain/words.ts";
import { createKnownHosts, type ParseContext } from "../../src/managers/manager.ts";
import type { Profile } from "../../src/managers/profile.ts";
import { profileReader } from "../../src/managers/profiles/parsing-service.ts";
import { profileManager } from "../../src/managers/profiles/profile-manager.ts";
import { readOutputSync } from "../../src/managers/read-output.ts";
import { managerOf } from "../../src/managers/registry.ts";

export type ReadOptions = Partial<ParseContext> & { readonly truncated?: boolean };

/** Returns the parser of a manager's outputs with these options, and its fixtures by name. */
export function outputsOf(manager: ManagerName, defaults: ReadOptions = {}) {
  return {
    parse: (text: string | Uint8Array, options: ReadOptions = {}): Reading =>
      readAs(manager, text, { ...defaults, ...options }),
    fixture: (name: string): string =>
      readFileSync(join(import.meta.dir, "../fixtures", manager, name), "utf8"),
  };
}

/** Parses an output with a manager or a profile. */
export function readAs(
  manager: ManagerName | Profile,
  output: string | Uint8Array,
  { zone = "UTC", now = 0, knownHosts = createKnownHosts(), truncated = false, ...rest }: ReadOptions = {},
) {
  const bytes = typeof output === "string" ? new TextEncoder().encode(output) : output;
  const { profile, createParser } =
    typeof manager === "string" ? managerOf(manager) : profileManager(manager);
  const context = { zone, now, knownHosts, ...rest };
  // The daemon uses the same reader in a worker.
  const parser = profile === undefined ? createParser(context) : profileReader(profile)(context, () => {});
  return readOutputSync(bytes, parser, truncated);
}
