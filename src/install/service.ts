import { existsSync } from "node:fs";
import type { Run } from "./host.ts";
import { UNIT_NAME } from "./layout.ts";

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

/** A program that must succeed. Throws with its words. */
export async function must(run: Run, argv: readonly string[], timeoutMs?: number): Promise<void> {
  const { ok, words } = await run(argv, timeoutMs);
  if (!ok) throw new Error(words === "" ? "it failed" : words);
}

/** The journal's last lines of the service, for a message; empty when there are none. */
export async function lastWords(run: Run, lines = 15): Promise<string> {
  const { stdout } = await run([
    "journalctl",
    "--no-pager",
    "-o",
    "cat",
    "-n",
    String(lines),
    "-u",
    UNIT_NAME,
  ]);
  return stdout.trimEnd();
}
