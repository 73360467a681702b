import {
  chmod,
  cp,
  lstat,
  lutimes,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { manPage } from "../../../src/cli/command.ts";
import { INITIAL_CONFIG } from "../../../src/cli/init.ts";
import { createProgram } from "../../../src/cli/program.ts";
import { elfNeeds, libcDependency } from "./elf-needs.ts";

export type DebArchitecture = "amd64" | "arm64";

/** Number of each architecture in the `e_machine` field of its binaries. */
const MACHINES: Readonly<Record<DebArchitecture, number>> = { amd64: 62, arm64: 183 };

interface DebOptions {
  /** The project's root. */
  readonly root: string;
  /** The built executable, for glibc. */
  readonly binary: string;
  /** Licenses of everything in the executable (`licmond version --licenses`); the package contains them as a file. */
  readonly licenses: string;
  /** Version of licmond, as in package.json: `1.2.3`, `1.3.0-rc.1`. */
  readonly version: string;
  readonly architecture: DebArchitecture;
  /** Folder of the package; created if missing. */
  readonly folder: string;
  /** Time of every file inside, in seconds since 1970: equal inputs give equal bytes. */
  readonly epoch: number;
  /**
   * Compression of the package. Default: xz, which takes a minute; `none` takes a second, for test
   * packages.
   */
  readonly compression?: "xz" | "none";
}

/**
 * Makes `licmond_<version>-1_<architecture>.deb` and returns its path. Needs `dpkg-deb`. Runs no packed file, so every
 * machine can make the packages of every architecture.
 */
export async function buildDeb(options: DebOptions): Promise<string> {
  const { architecture, folder, epoch } = options;
  const version = debianVersion(options.version);
  const binary = await readFile(options.binary);
  const needs = elfNeeds(binary);
  if (needs.machine !== MACHINES[architecture])
    throw new Error(`${options.binary} is not built for ${architecture} (ELF machine ${needs.machine})`);

  const stage = await mkdtemp(join(tmpdir(), "licmond-deb-"));
  try {
    const tree = join(stage, "tree");
    await layOut(tree, options, binary);
    const entries = await entriesOf(tree);
    const sums = await Promise.all(
      entries.map(async ({ path, size }) =>
        size === null ? "" : `${Bun.MD5.hash(await readFile(join(tree, path)), "hex")}  ${path}\n`,
      ),
    );
    // Debian counts each file in whole kilobytes, and adds one for each folder and the root.
    const installed = entries.reduce((sum, { size }) => sum + Math.ceil((size ?? 1) / 1024), 1);
    await put(join(tree, "DEBIAN/md5sums"), sums.join(""));
    await put(
      join(tree, "DEBIAN/control"),
      control({ version, architecture, libc: libcDependency(needs), installed }),
    );
    for (const script of ["preinst", "postinst", "prerm", "postrm"]) {
      await put(
        join(tree, "DEBIAN", script),
        await readFile(join(options.root, "packaging/deb", script)),
        0o755,
      );
    }
    await setTimes(tree, epoch);

    const fresh = join(stage, `licmond_${version}_${architecture}.deb`);
    await dpkgDeb(["--root-owner-group", `-Z${options.compression ?? "xz"}`, "--build", tree, fresh], epoch);
    await mkdir(folder, { recursive: true });
    const place = join(folder, `licmond_${version}_${architecture}.deb`);
    await cp(fresh, `${place}.new`);
    await rename(`${place}.new`, place);
    return place;
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

/** `1.3.0-rc.1` → `1.3.0~rc.1-1`: a tilde sorts before everything, so that the release follows its candidates. */
export function debianVersion(version: string): string {
  if (!/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/.test(version))
    throw new Error(`"${version}" is not a version of the form 1.2.3 or 1.2.3-rc.1`);
  return `${version.replace("-", "~").replaceAll("-", ".")}-1`;
}

/** Adapts the unit of `licmond install` to the package's path of the binary. Throws if the unit starts something else. */
export function packagedUnit(unit: string): string {
  if (!unit.includes("\nExecStart=/usr/local/bin/licmond "))
    throw new Error("the unit does not start /usr/local/bin/licmond, whose path the package replaces");
  return unit.replaceAll("/usr/local/bin/licmond", "/usr/bin/licmond");
}

/** Writes all files that the package installs to a folder. */
async function layOut(tree: string, options: DebOptions, binary: Uint8Array): Promise<void> {
  const source = (path: string) => readFile(join(options.root, path));
  await put(join(tree, "usr/bin/licmond"), binary, 0o755);
  for (const name of ["licmond.service", "licmond-hub.service"]) {
    const unit = packagedUnit(String(await source(`systemd/${name}`)));
    await put(join(tree, "usr/lib/systemd/system", name), unit);
  }
  for (const kind of ["sysusers", "tmpfiles"]) {
    await put(join(tree, `usr/lib/${kind}.d/licmond.conf`), await source(`systemd/licmond.${kind}.conf`));
  }
  await put(join(tree, "usr/share/licmond/licmond.toml"), INITIAL_CONFIG);
  const overrides = await source("packaging/deb/lintian-overrides");
  await put(join(tree, "usr/share/lintian/overrides/licmond"), overrides);
  const page = await manPage(
    createProgram,
    options.version,
    new Date(options.epoch * 1000).toISOString().slice(0, 10),
  );
  await put(join(tree, "usr/share/man/man1/licmond.1.gz"), gzip(page));
  for (const [shell, place] of Object.entries(COMPLETIONS))
    await put(join(tree, "usr/share", place), await source(`packaging/completions/${shell}.txt`));
  const documents = join(tree, "usr/share/doc/licmond");
  await put(join(documents, "copyright"), await source("packaging/deb/copyright"));
  await put(join(documents, "THIRD-PARTY-LICENSES.gz"), gzip(options.licenses));
  await put(join(documents, "changelog.gz"), gzip(await source("CHANGELOG.md")));
  await put(join(documents, "changelog.Debian.gz"), gzip(changelog(options)));
}

/** Folders of shell completions, below /usr/share. */
const COMPLETIONS: Readonly<Record<string, string>> = {
  bash: "bash-completion/completions/licmond",
  fish: "fish/vendor_completions.d/licmond.fish",
  zsh: "zsh/vendor-completions/_licmond",
};

function control(of: { version: string; architecture: string; libc: string; installed: number }): string {
  return `Package: licmond
Version: ${of.version}
Architecture: ${of.architecture}
Maintainer: ${MAINTAINER}
Installed-Size: ${of.installed}
Depends: ${of.libc}, systemd
Section: admin
Priority: optional
Description: monitoring daemon for software license servers
 licmond asks license servers (FlexNet, RLM and others) with the vendors' own
 tools and shows who holds the last seat and since when, whether the servers are
 up, and what expires next.
 .
 It is one executable, stores its data in SQLite, and serves it over REST,
 server-sent events and WebSockets. It needs no internet.
`;
}

const MAINTAINER = "The licmond authors <licmond@licmond.invalid>";

function changelog({ version, epoch }: DebOptions): string {
  const date = new Date(epoch * 1000).toUTCString().replace("GMT", "+0000");
  return `licmond (${debianVersion(version)}) stable; urgency=medium

  * Release ${version}.

 -- ${MAINTAINER}  ${date}
`;
}

/** Compresses at the highest level, without a name or time. */
function gzip(text: string | Uint8Array): Uint8Array {
  return Bun.gzipSync(typeof text === "string" ? new TextEncoder().encode(text) : new Uint8Array(text), {
    level: 9,
  });
}

/** Writes a file with exactly this mode, independent of the umask, and its folders with 0755. */
async function put(path: string, content: string | Uint8Array, mode = 0o644): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  await writeFile(path, content);
  await chmod(path, mode);
}

/** Returns the paths below a folder, sorted, with their sizes. The size of a folder is null. */
async function entriesOf(folder: string): Promise<{ readonly path: string; readonly size: number | null }[]> {
  const paths = (await readdir(folder, { recursive: true })).sort();
  return Promise.all(
    paths.map(async (path) => {
      const found = await lstat(join(folder, path));
      return { path, size: found.isFile() ? found.size : null };
    }),
  );
}

async function setTimes(folder: string, epoch: number): Promise<void> {
  for (const { path, size } of [...(await entriesOf(folder)), { path: ".", size: null }]) {
    const place = join(folder, path);
    if (size === null) await chmod(place, 0o755);
    await lutimes(place, epoch, epoch);
  }
}

async function dpkgDeb(args: string[], epoch: number): Promise<void> {
  const argv = ["dpkg-deb", ...args];
  if (Bun.which("dpkg-deb") === null) throw new Error("dpkg-deb is missing (Debian: apt-get install dpkg)");
  const child = Bun.spawn(argv, {
    env: {
      PATH: process.env.PATH ?? "/usr/bin:/bin",
      LC_ALL: "C",
      SOURCE_DATE_EPOCH: String(epoch),
      // xz output depends on the number of threads, so use one on every machine.
      DPKG_DEB_THREADS_MAX: "1",
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`${argv.join(" ")} failed (${code}):\n${out}${err}`);
}
