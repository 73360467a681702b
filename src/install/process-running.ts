import { readFileSync } from "node:fs";
import { errorCode } from "../store/database/store-error.ts";

/** Whether a process of this host runs, whoever's it is: files that carry its id are still in use then. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
  return !hasEnded(pid);
}

/** One that was killed keeps its id until its parent asks for it, which in a container may be late. See proc(5). */
function hasEnded(pid: number): boolean {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    // No Linux, or not ours to see.
    return false;
  }
  // Behind the name, which may hold anything.
  return /^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
}
