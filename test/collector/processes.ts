import { readdirSync, readFileSync } from "node:fs";

/**
 * Returns the processes whose environment contains `text`, a mark given to a tool. Zombies have no
 * environment and are left out.
 */
export function processesWith(text: string): number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => read(`/proc/${pid}/environ`).includes(text))
    .map(Number);
}

/** Waits until no process with this text is left. Returns the processes that are left after `withinMs`. */
export async function processesLeft(text: string, withinMs = 20_000): Promise<number[]> {
  const until = performance.now() + withinMs;
  for (;;) {
    const left = processesWith(text);
    if (left.length === 0 || performance.now() > until) return left;
    await Bun.sleep(10);
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}
