import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { codeOf } from "../domain/error-code.ts";
import { credentialFinder } from "./credentials.ts";
import type { Environment } from "./environment.ts";
import { type Interpreted, interpretConfig } from "./load.ts";

/** Where the config lies when nobody names another. */
export const DEFAULT_CONFIG_FILE = "/etc/licmond/licmond.toml";

/** A config and the file it came from; null = there is none, and the defaults hold. */
export type LoadedConfig = Interpreted & { readonly file: string | null };

/** The file that would be read: `--config`, else $LICMOND_CONFIG, else the default place. */
export function configFile(
  named: string | undefined,
  environment: Environment,
): { readonly file: string; readonly named: boolean } {
  const chosen = named ?? (environment.LICMOND_CONFIG || undefined);
  return chosen === undefined
    ? { file: DEFAULT_CONFIG_FILE, named: false }
    : { file: resolve(chosen), named: true };
}

/**
 * Reads the config. A file that was named must be there; the default one may be missing.
 * Never throws: what cannot be read is a problem like any other.
 */
export function loadConfig(named: string | undefined, environment: Environment): LoadedConfig {
  const { file, named: mustExist } = configFile(named, environment);
  const hasCredential = credentialFinder(environment, process.pid, isMissing);
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" && !mustExist)
      return { ...interpretConfig("", null, environment, hasCredential), file: null };
    return { ...unreadable(file, code, error), file };
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return { ...problem(file, "is not UTF-8, as TOML must be"), file };
  }
  return { ...interpretConfig(text, file, environment, hasCredential), file };
}

/** Not so of what lies behind a door that is closed. */
function isMissing(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return codeOf(error) === "ENOENT";
  }
}

function unreadable(file: string, code: unknown, error: unknown): Interpreted {
  if (code === "ENOENT")
    return problem(file, "there is no such file; `licmond init` with the same --config writes one");
  if (code === "EACCES") return problem(file, "this user may not read it; use sudo");
  if (code === "EISDIR") return problem(file, "is a directory, not a file");
  return problem(file, `cannot be read: ${error instanceof Error ? error.message : String(error)}`);
}

function problem(file: string, message: string): Interpreted {
  return { ok: false, problems: [{ file, variable: null, line: null, path: "", message }], warnings: [] };
}
