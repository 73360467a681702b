/**
 * A booted Debian with systemd, used as an administrator would use it. It is a copy of the base of `scripts/test
 * --systemd`, in its own namespaces, without a network.
 */
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { nspawn } from "../../scripts/lib/machine/nspawn.ts";
import { gather, until } from "../until.ts";

export { until };

/** Root of the base. It is undefined if machines cannot boot here, and the tests are then skipped. */
export const BASE = process.env.SYSTEMD_TEST_BASE;

export type Machine = ReturnType<typeof createMachine>;

/** Maximum time of a boot, as a guard against a hang; durations are not tested. */
const BOOT_DEADLINE_MS = 240_000;
const HALT_DEADLINE_MS = 120_000;
const COMMAND_TIMEOUT_MS = 300_000;
/** Environment of programs. The caller's environment is not passed on. */
const ENVIRONMENT = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LANG: "C.UTF-8",
  HOME: "/root",
  SYSTEMD_PAGER: "",
  DEBIAN_FRONTEND: "noninteractive",
};
const SPAWNED = { env: ENVIRONMENT, stdin: "ignore", stdout: "pipe", stderr: "pipe" } as const;

/** Creates a machine without booting it. */
export function createMachine() {
  let folder = "";
  let current: Awaited<ReturnType<typeof boot>> | null = null;
  const bootAgain = async () => {
    current = await boot(basename(folder).toLowerCase(), join(folder, "root"));
  };
  const init = () => {
    if (current === null) throw new Error("the machine is not booted");
    return current.init;
  };
  const pathOf = (path: string) => `/proc/${init()}/root${path}`;
  /** Returns the prefix of commands that run on the host but in the machine's network. */
  const network = () => ["nsenter", `--target=${init()}`, "--net"];
  // nsenter waits for its child, but does not kill it when it is killed.
  const inside = (command: string) => [
    ...["nsenter", `--target=${init()}`, "--all", "setpriv", "--pdeathsig", "KILL"],
    ...["sh", "-c", `cd /root && { ${command}\n}`],
  ];
  /** Runs a shell command as root. */
  const run = async (command: string) => {
    const child = Bun.spawn(inside(command), {
      ...SPAWNED,
      timeout: COMMAND_TIMEOUT_MS,
      killSignal: "SIGKILL",
    });
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    if (child.signalCode !== null)
      throw new Error(`ended by ${child.signalCode}: ${command}\n${stdout}${stderr}`);
    return { exitCode: child.exitCode, stdout, stderr };
  };
  return {
    /** Boots a fresh copy of the base. The error of a failed boot contains the console output. */
    async boot() {
      if (BASE === undefined)
        throw new Error("there is no base to boot: `scripts/test --systemd` prepares it");
      await removeLeftOvers();
      folder = await mkdtemp(join(tmpdir(), `${FOLDER}${process.pid}-`));
      await must(["cp", "--archive", "--reflink=auto", BASE, join(folder, "root")]);
      await bootAgain();
    },
    run,
    /** Like `run`, but throws on failure. Returns stdout without the last newline. */
    async sh(command: string) {
      const { exitCode, stdout, stderr } = await run(command);
      if (exitCode !== 0) throw new Error(`exit ${exitCode}: ${command}\n${stdout}${stderr}`);
      return stdout.trimEnd();
    },
    /** Starts a shell command in the background. */
    start: (command: string) => running(inside(`exec ${command}`)),
    network,
    /** Starts a program of the host in the machine's network, as a peer of the machine. */
    inNetwork: (argv: readonly string[]) => running([...network(), ...argv]),
    read: (path: string) => readFile(pathOf(path), "utf8"),
    /** Writes a file and its parent folders. */
    async write(path: string, text: string, mode = 0o644) {
      await Bun.write(pathOf(path), text);
      await chmod(pathOf(path), mode);
    },
    /** Copies a file from the host. */
    async copyIn(from: string, path: string, mode = 0o644) {
      await must(["cp", from, pathOf(path)]);
      await chmod(pathOf(path), mode);
    },
    /** Shuts down as `systemctl reboot` does, and boots again from the same disk. */
    async reboot() {
      await current?.halt();
      await bootAgain();
    },
    async [Symbol.asyncDispose]() {
      await current?.kill();
      if (folder !== "") await rm(folder, { recursive: true, force: true });
    },
  };
}

function running(argv: string[]) {
  const child = Bun.spawn(argv, SPAWNED);
  const printed = gather(child.stdout, child.stderr);
  return {
    /** Output so far, stdout and stderr together. */
    output: printed.text,
    /** Resolves to the exit code. */
    ended: Promise.all([child.exited, printed.done]).then(([code]) => code),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

async function boot(name: string, root: string) {
  const { argv, tidy } = await nspawn(name, root, ["--boot"]);
  const child = Bun.spawn([...argv], { ...SPAWNED, env: { PATH: ENVIRONMENT.PATH } });
  const printed = gather(child.stdout, child.stderr);
  const end = async (how: () => void) => {
    if (child.exitCode === null && child.signalCode === null) how();
    const timer = setTimeout(() => child.kill("SIGKILL"), HALT_DEADLINE_MS);
    await child.exited;
    clearTimeout(timer);
    await tidy();
  };
  let init: number | null = null;
  // When the first process of a PID namespace dies, the kernel kills all others.
  const kill = () => (init === null ? child.kill("SIGKILL") : process.kill(init, "SIGKILL"));
  const isBooted = async () => {
    if (child.exitCode !== null) throw new Error(`systemd-nspawn ended: ${child.exitCode}`);
    const pid = await initOf(child.pid);
    if (pid === null) return undefined;
    init = pid;
    const asked = Bun.spawn(
      ["nsenter", `--target=${pid}`, "--all", "systemctl", "is-system-running"],
      SPAWNED,
    );
    const state = (await asked.stdout.text()).trim();
    if (state === "degraded") throw new Error("a unit of the machine's own has failed");
    return state === "running" ? pid : undefined;
  };
  try {
    init = await until("the machine has booted", isBooted, BOOT_DEADLINE_MS);
    return { init, halt: () => end(() => child.kill("SIGTERM")), kill: () => end(kill) };
  } catch (cause) {
    await end(kill);
    throw new Error(`${String(cause)}; it said:\n${printed.text()}`);
  }
}

/** Returns the child of nspawn that is PID 1 of the machine, or null before it exists. */
async function initOf(nspawnPid: number): Promise<number | null> {
  try {
    const children = await readFile(`/proc/${nspawnPid}/task/${nspawnPid}/children`, "utf8");
    for (const pid of children.split(" ").filter((word) => word.trim() !== ""))
      if (/^NSpid:.*\t1$/m.test(await readFile(`/proc/${pid.trim()}/status`, "utf8"))) return Number(pid);
  } catch {
    // The process ended during the search.
  }
  return null;
}

/** Start of the names of the copies' folders. The id of the process that made the copy follows. */
const FOLDER = "licmond-machine-";

/** Removes copies of runs that were killed. */
async function removeLeftOvers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = name.startsWith(FOLDER) ? Number.parseInt(name.slice(FOLDER.length), 10) : Number.NaN;
    if (Number.isNaN(pid) || (await Bun.file(`/proc/${pid}/stat`).exists())) continue;
    await rm(join(tmpdir(), name), { recursive: true, force: true });
  }
}

async function must(argv: string[]): Promise<void> {
  const child = Bun.spawn(argv, { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const said = await child.stderr.text();
  if ((await child.exited) !== 0) throw new Error(`${argv.join(" ")}: ${said}`);
}
