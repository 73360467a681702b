/**
 * A booted Debian with systemd, driven as its administrator would: a copy of the base that `scripts/test --systemd`
 * prepares, in namespaces of its own, without a network.
 */
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { nspawn } from "../../scripts/lib/machine/nspawn.ts";
import { gather, until } from "../until.ts";

export { until };

/** Root of the base; undefined where no machine can be booted, and then the tests are skipped. */
export const BASE = process.env.SYSTEMD_TEST_BASE;

export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running extends AsyncDisposable {
  /** What it has printed so far, stdout and stderr together. */
  output(): string;
  /** Its exit code. */
  readonly ended: Promise<number>;
}

export interface Machine extends AsyncDisposable {
  /** Boots a fresh copy of the base. What it said while booting is in the error when it does not come up. */
  boot(): Promise<void>;
  /** Runs a command line of the shell as root to its end. */
  run(command: string): Promise<Ended>;
  /** As `run`, but a failure is an error with everything that was printed; answers stdout without its last newline. */
  sh(command: string): Promise<string>;
  /** Starts a command line and leaves it running. */
  start(command: string): Running;
  /** A file's text; throws when it is not there. */
  read(path: string): Promise<string>;
  /** Writes a file and the folders above it. */
  write(path: string, text: string, mode?: number): Promise<void>;
  /** What stands before a program of the host that sees the machine's network alone. */
  network(): readonly string[];
  /** Starts a program of the host, which sees the machine's network alone: who is on the other end there. */
  inNetwork(argv: readonly string[]): Running;
  /** Copies a file of the host into it. */
  copyIn(from: string, path: string, mode?: number): Promise<void>;
  /** Shuts it down as `systemctl reboot` does, and boots what is on its disk. */
  reboot(): Promise<void>;
}

/** Guards against what hangs: no test is about how quick a machine is. */
const BOOT_DEADLINE_MS = 240_000;
const HALT_DEADLINE_MS = 120_000;
const COMMAND_TIMEOUT_MS = 300_000;
/** Nothing of the caller's environment. */
const ENVIRONMENT = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LANG: "C.UTF-8",
  HOME: "/root",
  SYSTEMD_PAGER: "",
  DEBIAN_FRONTEND: "noninteractive",
};

/** A machine that is not booted yet. */
export function createMachine(): Machine {
  let folder = "";
  let current: Booted | null = null;
  const bootAgain = async () => {
    current = await boot(basename(folder).toLowerCase(), join(folder, "root"));
  };
  const init = () => {
    if (current === null) throw new Error("the machine is not booted");
    return current.init;
  };
  const pathOf = (path: string) => `/proc/${init()}/root${path}`;

  const inside = (command: string) => [
    "nsenter",
    `--target=${init()}`,
    "--all",
    // nsenter waits for what it starts, but does not take it along when it is killed.
    ...["setpriv", "--pdeathsig", "KILL"],
    "sh",
    "-c",
    `cd /root && { ${command}\n}`,
  ];
  const machine: Machine = {
    async boot() {
      if (BASE === undefined)
        throw new Error("there is no base to boot: `scripts/test --systemd` prepares it");
      await removeLeftOvers();
      folder = await mkdtemp(join(tmpdir(), `${FOLDER}${process.pid}-`));
      await must(["cp", "--archive", "--reflink=auto", BASE, join(folder, "root")]);
      await bootAgain();
    },
    async run(command) {
      const child = Bun.spawn(inside(command), {
        env: ENVIRONMENT,
        stdin: "ignore",
        stdout: "pipe",
        stderr: "pipe",
        timeout: COMMAND_TIMEOUT_MS,
        killSignal: "SIGKILL",
      });
      const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
      if (child.signalCode !== null)
        throw new Error(`ended by ${child.signalCode}: ${command}\n${stdout}${stderr}`);
      return { exitCode: child.exitCode, stdout, stderr };
    },
    async sh(command) {
      const { exitCode, stdout, stderr } = await machine.run(command);
      if (exitCode !== 0) throw new Error(`exit ${exitCode}: ${command}\n${stdout}${stderr}`);
      return stdout.trimEnd();
    },
    start: (command) => running(inside(`exec ${command}`)),
    network: () => ["nsenter", `--target=${init()}`, "--net"],
    inNetwork: (argv) => running([...machine.network(), ...argv]),
    read: (path) => readFile(pathOf(path), "utf8"),
    async write(path, text, mode = 0o644) {
      await Bun.write(pathOf(path), text);
      await chmod(pathOf(path), mode);
    },
    async copyIn(from, path, mode = 0o644) {
      await must(["cp", from, pathOf(path)]);
      await chmod(pathOf(path), mode);
    },
    async reboot() {
      await current?.halt();
      await bootAgain();
    },
    async [Symbol.asyncDispose]() {
      await current?.kill();
      if (folder !== "") await rm(folder, { recursive: true, force: true });
    },
  };
  return machine;
}

function running(argv: string[]): Running {
  const child = Bun.spawn(argv, { env: ENVIRONMENT, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const printed = gather(child.stdout, child.stderr);
  return {
    output: printed.text,
    ended: Promise.all([child.exited, printed.done]).then(([code]) => code),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

interface Booted {
  /** Process id of the machine's PID 1, as the host sees it. */
  readonly init: number;
  /** Ends its services in order and waits. */
  halt(): Promise<void>;
  /** As pulling the plug. */
  kill(): Promise<void>;
}

async function boot(name: string, root: string): Promise<Booted> {
  const { argv, tidy } = await nspawn(name, root, ["--boot"]);
  const child = Bun.spawn([...argv], {
    env: { PATH: ENVIRONMENT.PATH },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const printed = gather(child.stdout, child.stderr);
  const end = async (how: () => void, deadlineMs: number) => {
    const running = () => child.exitCode === null && child.signalCode === null;
    if (running()) how();
    const timer = setTimeout(() => child.kill("SIGKILL"), deadlineMs);
    await child.exited;
    clearTimeout(timer);
    await tidy();
  };
  let init: number | null = null;
  // The kernel ends everything in a name space whose first process has ended.
  const kill = () => (init === null ? child.kill("SIGKILL") : process.kill(init, "SIGKILL"));
  try {
    init = await until(
      "the machine has booted",
      async () => {
        if (child.exitCode !== null) throw new Error(`systemd-nspawn ended: ${child.exitCode}`);
        const pid = await initOf(child.pid);
        if (pid === null) return undefined;
        init = pid;
        const asked = Bun.spawn(["nsenter", `--target=${pid}`, "--all", "systemctl", "is-system-running"], {
          env: ENVIRONMENT,
          stdin: "ignore",
          stdout: "pipe",
          stderr: "ignore",
        });
        const state = (await asked.stdout.text()).trim();
        if (state === "degraded") throw new Error("a unit of the machine's own has failed");
        return state === "running" ? pid : undefined;
      },
      BOOT_DEADLINE_MS,
    );
    return {
      init,
      halt: () => end(() => child.kill("SIGTERM"), HALT_DEADLINE_MS),
      kill: () => end(kill, HALT_DEADLINE_MS),
    };
  } catch (cause) {
    await end(kill, HALT_DEADLINE_MS);
    throw new Error(`${String(cause)}; it said:\n${printed.text()}`);
  }
}

/** The child of nspawn that is PID 1 in a name space of its own; null while there is none. */
async function initOf(nspawnPid: number): Promise<number | null> {
  try {
    const children = await readFile(`/proc/${nspawnPid}/task/${nspawnPid}/children`, "utf8");
    for (const pid of children.trim().split(" ")) {
      if (pid === "") continue;
      const status = await readFile(`/proc/${pid}/status`, "utf8");
      if (/^NSpid:.*\t1$/m.test(status)) return Number(pid);
    }
  } catch {
    // It came or went while we looked.
  }
  return null;
}

/** Begins the names of the copies' folders; the process that made them follows. */
const FOLDER = "licmond-machine-";

/** Copies of runs that were killed before they could tidy up. */
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
