import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parse, TomlError } from "smol-toml";
import { codeOf, messageOf } from "../domain/error-code.ts";
import { printPath } from "../domain/schema-problems.ts";
import { beginsWithDate } from "../domain/time/zone.ts";
import { checkValue, isTable, type Partly, show } from "./check-value.ts";
import { buildConfig, type Config } from "./config.ts";
import { credentialFinder } from "./credentials.ts";
import { crossCheck } from "./cross-checks.ts";
import { type Environment, overrideFromEnvironment } from "./environment.ts";
import { createLocator, type Finding, type Locate, type Problem } from "./problem.ts";
import { ConfigFile, ServerDefaults } from "./schema.ts";

export const DEFAULT_CONFIG_FILE = "/etc/licmond/licmond.toml";

/** `file` is null if no config file was read, so that the defaults apply. */
export type LoadedConfig = Interpreted & { readonly file: string | null };

/** Returns the config file: `--config`, else $LICMOND_CONFIG, else the default. */
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
 * Reads the config. A named file must exist; the default one may be missing. Never throws, because read
 * errors are returned as problems.
 */
export function loadConfig(named: string | undefined, environment: Environment): LoadedConfig {
  const { file, named: mustExist } = configFile(named, environment);
  const hasCredential = credentialFinder(environment, process.pid);
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
    return { ...problem(file, "is not valid UTF-8"), file };
  }
  return { ...interpretConfig(text, file, environment, hasCredential), file };
}

function unreadable(file: string, code: unknown, error: unknown): Interpreted {
  if (code === "ENOENT")
    return problem(file, "no such file; write one with `licmond init` and the same --config");
  if (code === "EACCES") return problem(file, "permission denied; use sudo");
  if (code === "EISDIR") return problem(file, "is a directory, not a file");
  return problem(file, `cannot be read: ${messageOf(error)}`);
}

function problem(file: string | null, message: string, line: number | null = null): Interpreted {
  return {
    ok: false,
    problems: [{ file, variable: null, line, path: "", message, server: null }],
    warnings: [],
  };
}

/** `warnings` are printed and change nothing. */
type Interpreted =
  | { readonly ok: true; readonly config: Config; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly warnings: readonly string[] };

/**
 * Interprets TOML text and environment variables. Returns the config, or all problems in the order of the
 * file. Never throws. `hasCredential`: reports whether the unit has a credential of that name.
 */
export function interpretConfig(
  text: string,
  file: string | null,
  environment: Environment,
  hasCredential: (name: string) => boolean = () => true,
): Interpreted {
  let tables: unknown;
  try {
    tables = parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    if (!(error instanceof TomlError)) return problem(file, "invalid TOML");
    return problem(file, `invalid TOML: ${reasonOf(error, text)} (column ${error.column})`, error.line);
  }
  const { raw, origins, warnings } = overrideFromEnvironment(tables, environment);
  const locate = createLocator(text);
  const findings: Finding[] = [];
  const checked = checkValue(ConfigFile, withServerDefaults(raw), findings) ?? {};
  const known = new Set(findings.map(({ path }) => printPath(path)));
  const crossed = crossCheck(checked, locate, hasCredential);
  // A wrong value is left out of `checked`; do not also report it as missing.
  findings.push(...crossed.filter(({ path }) => !known.has(printPath(path))));
  findings.push(...impossibleDates(checked, text, locate));
  if (findings.length > 0)
    return { ok: false, problems: place(findings, file, origins, locate, serverIds(raw)), warnings };
  return { ok: true, config: buildConfig(checked as ConfigFile, environment), warnings };
}

/**
 * Returns the first line of the parser's message. The other lines quote the file, which may hold a secret.
 */
function reasonOf({ message, line, column }: TomlError, text: string): string {
  const [why = ""] = message.split("\n", 1);
  const isLineEnd = column > (text.split("\n")[line - 1] ?? "").replace(/\r$/, "").length;
  if (why.includes("control characters are not allowed") && isLineEnd) return "unterminated string";
  return why.replace(/^Invalid TOML document: /, "");
}

/**
 * Merges `[server_defaults]` into each server, without wrong defaults, which are reported once. A server
 * has one log, so its own `log_file` replaces a common `log_command`, and vice versa.
 */
function withServerDefaults(raw: unknown): unknown {
  if (!isTable(raw) || !isTable(raw.server_defaults) || !Array.isArray(raw.servers)) return raw;
  const defaults = checkValue(ServerDefaults, raw.server_defaults, []) ?? {};
  const { log_file, log_command, labels, ...common } = defaults;
  const servers = raw.servers.map((server: unknown) => {
    if (!isTable(server)) return server;
    const hasLog = server.log_file !== undefined || server.log_command !== undefined;
    const log = hasLog ? {} : { ...(log_file && { log_file }), ...(log_command && { log_command }) };
    const own = server.labels ?? {};
    const all = labels !== undefined && isTable(own) ? { labels: { ...labels, ...own } } : {};
    return { ...common, ...log, ...server, ...all };
  });
  return { ...raw, servers };
}

/** Finds impossible dates in the text, because the TOML parser turns February 30 into March 2. */
function impossibleDates({ maintenance = [] }: Partly<ConfigFile>, text: string, locate: Locate): Finding[] {
  const lines = text.split("\n");
  return maintenance.flatMap((window, index) => {
    const path = ["maintenance", index, "start"];
    const line = window?.start instanceof Date ? locate(path) : null;
    const written =
      line === null ? undefined : /\bstart\s*=\s*(\d{4}-\d\d-\d\d)/.exec(lines[line - 1] ?? "")?.[1];
    if (written === undefined || beginsWithDate(written)) return [];
    return [{ path, message: `must be a valid date, not ${written}` }];
  });
}

/** Returns the quoted ids of the `[[servers]]`; null for servers without one. */
function serverIds(raw: unknown): (string | null)[] {
  const servers = isTable(raw) && Array.isArray(raw.servers) ? raw.servers : [];
  return servers.map((server) => (isTable(server) && typeof server.id === "string" ? show(server.id) : null));
}

function place(
  findings: readonly Finding[],
  file: string | null,
  origins: ReadonlyMap<string, string>,
  locate: Locate,
  servers: readonly (string | null)[],
): Problem[] {
  const problems = findings.map(({ path, message }): Problem => {
    const printed = printPath(path);
    const variable = origins.get(printed) ?? null;
    const line = variable === null ? locate(path) : null;
    const [table, index, key] = path;
    const server = table === "servers" && typeof index === "number" && key !== "id" ? servers[index] : null;
    return { file, variable, line, path: printed, message, server: server ?? null };
  });
  return problems.sort((a, b) => (a.line ?? Number.MAX_SAFE_INTEGER) - (b.line ?? Number.MAX_SAFE_INTEGER));
}
