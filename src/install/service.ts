import { existsSync } from "node:fs";
import { createCommandRunner } from "../collector/run-command.ts";
import { locate } from "../collector/tool.ts";
import type { Run } from "./host.ts";
import { UNIT_NAME } from "./layout.ts";
import type { Pass } from "./pass.ts";

/**
 * Whether systemd runs this host and can be reached. sd_booted(3) alone looks for the directory, which a container may
 * have without it.
 */
export async function isSystemdHost(run: Run): Promise<boolean> {
  if (!existsSync("/run/systemd/system")) return false;
  return (await run(["systemctl", "show", "--property=Version"])).ok;
}

export interface ServiceState {
  readonly isActive: boolean;
  readonly isEnabled: boolean;
  /** Files of the unit changed since systemd read them. */
  readonly needsReload: boolean;
}

/** What systemd knows of the service; a unit that is not there is neither active nor enabled. Throws when it is not reached. */
export async function serviceState(run: Run): Promise<ServiceState> {
  const asked = "--property=ActiveState,UnitFileState,NeedDaemonReload";
  const { ok, stdout, words } = await run(["systemctl", "show", asked, UNIT_NAME]);
  if (!ok) throw new Error(`systemctl show: ${words}`);
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(stdout)?.[1] ?? "";
  return {
    isActive: ["active", "activating", "reloading"].includes(value("ActiveState")),
    isEnabled: value("UnitFileState") === "enabled",
    needsReload: value("NeedDaemonReload") === "yes",
  };
}

/** How long systemd may take: the unit's own bounds (a start that migrates years of history) end before. */
export const SERVICE_TIMEOUT_MS = 17 * 60_000;

/** Runs a command line, whose words with blanks stand in single quotes. Throws with its words when it fails. */
export async function must(run: Run, line: string, timeoutMs?: number): Promise<void> {
  const argv = (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ""));
  const { ok, words } = await run(argv, timeoutMs);
  if (!ok) throw new Error(words === "" ? "it failed" : words);
}

/** A step that is a command line. */
export function runStep(pass: Pass, line: string, what: string, timeoutMs?: number): Promise<void> {
  return pass.change(line, what, () => must(pass.run, line, timeoutMs));
}

/** The journal's last lines of a unit, for a message; empty when there are none. */
export async function lastWords(run: Run, unit: string): Promise<string> {
  const { stdout } = await run(["journalctl", "--no-pager", "-o", "cat", "-n", "15", "-u", unit]);
  return stdout.trimEnd();
}

/** Starts the service, or starts it again. Throws with what systemd and the service said. */
export async function restartService(run: Run): Promise<void> {
  // Attempts from before must not count against this one; it fails when there is nothing to reset.
  await run(["systemctl", "reset-failed", UNIT_NAME]);
  const { ok, words } = await run(["systemctl", "restart", UNIT_NAME], SERVICE_TIMEOUT_MS);
  if (!ok) throw new Error(`${words}\nits last words:\n${await lastWords(run, UNIT_NAME)}`);
}

/** Where the system's own programs lie, whatever the caller's $PATH says: they are run as root. */
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const RUN_TIMEOUT_MS = 30_000;

/** Runs programs of this host, with nothing of the caller's environment. */
export function systemRun(): Run {
  const runner = createCommandRunner({ path: SYSTEM_PATH, home: "/" });
  return async (argv, timeoutMs = RUN_TIMEOUT_MS) => {
    const result = await runner.run({ argv, env: {}, timeoutMs });
    if (!result.started) return { ok: false, exitCode: null, stdout: "", words: result.failure.message };
    const decoder = new TextDecoder();
    const [stdout, stderr] = [decoder.decode(result.stdout), decoder.decode(result.stderr)];
    if (result.timedOut)
      return { ok: false, exitCode: null, stdout, words: `it took longer than ${timeoutMs / 1000} s` };
    const words = (stderr.trim() || stdout.trim()).slice(-2000);
    return { ok: result.exitCode === 0, exitCode: result.exitCode, stdout, words };
  };
}

/** Whether the system has a program. */
export function hasProgram(program: string): boolean {
  return locate(program, SYSTEM_PATH) !== null;
}
