import type { ManagerName } from "../../src/domain/words.ts";
import { createKnownHosts, type ParseContext } from "../../src/managers/manager.ts";
import { profileReader } from "../../src/managers/profiles/parsing-service.ts";
import { readOutputSync } from "../../src/managers/read-output.ts";
import { managerOf } from "../../src/managers/registry.ts";

export type ReadOptions = Partial<ParseContext> & { readonly truncated?: boolean };

/** Parses an output with the manager's parser. */
export function readAs(
  manager: ManagerName,
  output: string | Uint8Array,
  { zone = "UTC", now = 0, knownHosts = createKnownHosts(), truncated = false, ...rest }: ReadOptions = {},
) {
  const bytes = typeof output === "string" ? new TextEncoder().encode(output) : output;
  const { profile, createParser } = managerOf(manager);
  const context = { zone, now, knownHosts, ...rest };
  // The daemon uses the same reader in a worker.
  const parser = profile === undefined ? createParser(context) : profileReader(profile)(context, () => {});
  return readOutputSync(bytes, parser, truncated);
}
