/** Runs a program and gives back what it printed; null when it is not there or failed. */
export function outputOf(argv: string[], cwd: string): string | null {
  try {
    const result = Bun.spawnSync(argv, { cwd, stdin: "ignore", stdout: "pipe", stderr: "ignore" });
    return result.success ? result.stdout.toString().trim() : null;
  } catch {
    return null;
  }
}
