import { errorCode } from "./store-error.ts";

/** Whether a process of this host runs, whoever's it is: files that carry its id are still in use then. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
}
