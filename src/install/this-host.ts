import { createCommandRunner } from "../collector/run-command.ts";
import { locate } from "../collector/tool.ts";
import type { Run } from "./host.ts";

/** Where the system's own programs lie, whatever the caller's $PATH says: they are run as root. */
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const TIMEOUT_MS = 30_000;

/** Runs programs of this host, with nothing of the caller's environment. */
export function systemRun(): Run {
  const runner = createCommandRunner({ path: SYSTEM_PATH, home: "/" });
  return async (argv, timeoutMs = TIMEOUT_MS) => {
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
