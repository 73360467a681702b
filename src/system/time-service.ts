/** timedatectl answers within milliseconds; where D-Bus hangs, the caller does not wait for it. */
const TIMEOUT_MS = 5_000;

/**
 * Whether a time service keeps the kernel's clock synchronised, by what systemd says of it (`adjtimex`, which would say
 * so directly, is forbidden under `ProtectClock=`). False too where there is no systemd to ask.
 */
export async function isClockSynchronised(path: string | undefined): Promise<boolean> {
  const program = Bun.which("timedatectl", { PATH: path ?? "" });
  if (program === null) return false;
  try {
    const child = Bun.spawn([program, "show", "--property=NTPSynchronized", "--value"], {
      stdin: "ignore",
      stderr: "ignore",
      timeout: TIMEOUT_MS,
      killSignal: "SIGKILL",
    });
    return (await new Response(child.stdout).text()).trim() === "yes";
  } catch {
    // It could not be started: nothing confirms the clock.
    return false;
  }
}
