/**
 * Creates a Debian with systemd in a folder, for tests on a real service manager. debootstrap makes it once from the host's
 * package mirror and keeps it in `.cache/`. Tests boot copies of it.
 */
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { nspawn } from "./nspawn.ts";

/** Packages that license servers and their administrators use, in addition to the essential ones. */
const PACKAGES = ["systemd", "systemd-sysv", "dbus", "ca-certificates", "curl", "sudo", "acl"];
/** Version of the steps below. Increase it when the steps change. */
const RECIPE = 1;
/** Packages of the host that provide each tool. */
const TOOLS: Readonly<Record<string, string>> = {
  debootstrap: "debootstrap",
  "systemd-nspawn": "systemd-container",
};

export type Base =
  | { readonly kind: "ready"; readonly root: string }
  /** The host cannot run machines; `why` names the missing part. */
  | { readonly kind: "impossible"; readonly why: string }
  /** Creating the base failed. */
  | { readonly kind: "failed"; readonly why: string };

/** Maximum time to create the base. It usually takes half a minute, and longer with a slow mirror. */
const MAKE_TIMEOUT_MS = 8 * 60_000;

interface Ran {
  readonly ok: boolean;
  readonly output: string;
}

/** @param cache a folder that is kept between runs; created if missing */
export async function prepareBase(cache: string, log: (line: string) => void): Promise<Base> {
  if (process.getuid?.() !== 0) return impossible("only root may boot a machine (systemd-nspawn)");
  if (Bun.which("apt-get") === null)
    return impossible("the machine is built from Debian's packages, but this host has no apt");

  const missing = Object.entries(TOOLS).filter(([program]) => Bun.which(program) === null);
  if (missing.length > 0) {
    const packages = missing.map(([, name]) => name);
    log(`installing ${packages.join(", ")} …`);
    const installed = await install(packages);
    if (!installed.ok) return failed(`apt-get install ${packages.join(" ")}`, installed);
  }

  const release = await hostRelease();
  const architecture = (await run(["dpkg", "--print-architecture"])).output.trim();
  const recipe = `${release} ${architecture} ${PACKAGES.join(" ")} ${RECIPE}`;
  const root = join(cache, `machine-${release}-${architecture}`);
  if ((await textOf(join(root, MARKER))) !== recipe) {
    const made = await make(root, { release, recipe, cache, log });
    if (!made.ok) return failed("debootstrap", made);
  }

  const tried = await trial(root);
  if (!tried.ok) return impossible(`systemd-nspawn cannot run /bin/true here:\n${tried.output.trim()}`);
  return { kind: "ready", root };
}

/** File in a complete base with the inputs that it was made from. */
const MARKER = "usr/share/test-machine";

interface Making {
  readonly release: string;
  readonly recipe: string;
  readonly cache: string;
  readonly log: (line: string) => void;
}

/** Built in a temporary folder and renamed at the end, so an interrupted build is never used. */
async function make(root: string, { release, recipe, cache, log }: Making): Promise<Ran> {
  const mirror = await mirrorOf(release);
  if (mirror === null)
    return { ok: false, output: `this host's apt sources do not contain the component main of "${release}"` };
  log(`creating a Debian ${release} with systemd from this host's mirror (half a minute, once) …`);
  await mkdir(cache, { recursive: true });
  const half = await mkdtemp(join(cache, "machine-half-"));
  const fresh = join(half, "root");
  try {
    const include = `--include=${PACKAGES.join(",")}`;
    const made = await run(
      ["debootstrap", "--variant=minbase", include, release, fresh, mirror],
      MAKE_TIMEOUT_MS,
      await proxy(),
    );
    if (!made.ok) return { ok: false, output: made.output.split("\n").slice(-30).join("\n") };
    for (const path of ["var/cache/apt/archives", "var/lib/apt/lists", "usr/share/locale", "usr/share/man"])
      await run(["find", join(fresh, path), "-type", "f", "-delete"]);
    // Remove traces of the host, and let each first boot create its own machine id.
    await Bun.write(join(fresh, "etc/hostname"), "licenses\n");
    await Bun.write(join(fresh, "etc/hosts"), "127.0.0.1 localhost licenses\n::1 localhost licenses\n");
    await Bun.write(join(fresh, "etc/machine-id"), "");
    await rm(join(fresh, "etc/resolv.conf"), { force: true });
    await Bun.write(join(fresh, MARKER), recipe);
    await rm(root, { recursive: true, force: true });
    await rename(fresh, root);
    return { ok: true, output: "" };
  } finally {
    await rm(half, { recursive: true, force: true });
  }
}

/** Runs a program in the read-only base. */
async function trial(root: string): Promise<Ran> {
  const options = ["--read-only", "--as-pid2", "/bin/true"];
  try {
    const machine = await nspawn(`licmond-trial-${process.pid}`, root, options);
    try {
      return await run(machine.argv, 30_000);
    } finally {
      await machine.tidy();
    }
  } catch (error) {
    return { ok: false, output: String(error) };
  }
}

async function install(packages: readonly string[]): Promise<Ran> {
  const updated = await run(["apt-get", "update"], 120_000);
  return updated.ok
    ? run(["apt-get", "install", "-y", "--no-install-recommends", ...packages], 300_000)
    : updated;
}

/** Returns the code name of the host's release, whose mirror apt knows. */
async function hostRelease(): Promise<string> {
  const text = (await textOf("/etc/os-release")) ?? "";
  return /^VERSION_CODENAME="?([a-z]+)"?$/m.exec(text)?.[1] ?? "stable";
}

/** Returns the host's mirror of `main`. apt can be configured in many places, so ask apt itself. */
async function mirrorOf(release: string): Promise<string | null> {
  const format = "$(RELEASE) $(COMPONENT) $(REPO_URI)";
  const targets = await run(["apt-get", "indextargets", "--format", format, "Created-By: Packages"]);
  for (const line of targets.output.split("\n")) {
    const [suite, component, uri] = line.split(" ");
    if (suite === release && component === "main" && uri !== undefined) return uri;
  }
  return null;
}

/** debootstrap does not read apt's proxy settings. */
async function proxy(): Promise<Record<string, string>> {
  const dump = await run(["apt-config", "dump", "--format", "%v%n", "Acquire::http::Proxy"]);
  const address = dump.output.trim();
  return address === "" ? {} : { http_proxy: address };
}

async function run(
  argv: readonly string[],
  timeoutMs = 240_000,
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const child = Bun.spawn([...argv], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C.UTF-8", ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  clearTimeout(timer);
  return { ok: child.exitCode === 0, output: `${out}${err}` };
}

async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch {
    return null;
  }
}

function impossible(why: string): Base {
  return { kind: "impossible", why };
}

function failed(what: string, { output }: Ran): Base {
  return { kind: "failed", why: `${what} failed:\n${output.trim()}` };
}
