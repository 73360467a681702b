import { afterAll, describe, expect, test } from "bun:test";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import manifest from "../../package.json";
import { buildDeb } from "../../scripts/lib/release/deb.ts";
import { makeRelease } from "../../scripts/lib/release/make-release.ts";
import {
  bareName,
  hasFormat,
  nameOf,
  type ReleaseTarget,
  TARGETS,
} from "../../scripts/lib/release/targets.ts";
import { differences } from "../../scripts/lib/release/verify.ts";
import { freePort, run, SLOW, start } from "./harness.ts";

const root = join(import.meta.dir, "../..");
const { version } = manifest;
const commit = "0123456789abcdef";
const epoch = 1_795_000_000;

const DPKG = Bun.which("dpkg-deb") !== null;
/** Emulator of an ARM CPU, and the libraries for it: Debian's qemu-user-static and libc6-arm64-cross. */
const EMULATOR = "/usr/bin/qemu-aarch64-static";
const ARM_LIBRARIES = "/usr/aarch64-linux-gnu";

const place = SLOW ? await mkdtemp(join(tmpdir(), "licmond-release-")) : "";
if (SLOW) afterAll(() => rm(place, { recursive: true, force: true }));
const release = join(place, "release");
const file = (name: string) => join(release, name);
const bareOf = (name: string) => {
  const target = TARGETS.find((each) => each.name === name);
  if (target === undefined) throw new Error(`no target ${name}`);
  return file(bareName(target, version));
};

/**
 * Makes a release of every target. Bun's executables for other machines are downloaded once; targets that cannot be
 * downloaded are skipped.
 */
async function make(): Promise<readonly ReleaseTarget[]> {
  const options = { root, version, commit, epoch, compression: "none", progress: () => {} } as const;
  for (let targets = TARGETS; ; ) {
    try {
      await makeRelease({ ...options, folder: release, targets });
      return targets;
    } catch (error) {
      const [, missing] =
        /^(\S+): .*Failed to download/s.exec(error instanceof Error ? error.message : "") ?? [];
      if (missing === undefined) throw error;
      console.warn(`skipped: Bun's executable for ${missing} cannot be had here`);
      targets = targets.filter((target) => target.name !== missing);
    }
  }
}

const made = SLOW && DPKG ? await make() : [];
const isMade = (name: string) => made.some((target) => target.name === name);

async function must(argv: string[], cwd = place): Promise<string> {
  const env = { PATH: process.env.PATH ?? "", LC_ALL: "C" };
  const { exitCode, stdout, stderr } = await run([], { program: argv, cwd, env });
  if (exitCode !== 0) throw new Error(`${argv.join(" ")} failed (${exitCode}):\n${stdout}${stderr}`);
  return stdout;
}

describe.skipIf(made.length === 0)("the files of a release", () => {
  test("SHA256SUMS lists every file correctly", async () => {
    const checked = await must(["sha256sum", "--strict", "-c", "SHA256SUMS"], release);
    const names = (await readdir(release)).filter((name) => name !== "SHA256SUMS");
    expect(checked.trimEnd().split("\n").sort()).toEqual(names.map((name) => `${name}: OK`).sort());
    const debs = made.filter((target) => target.deb !== null).length;
    // An executable and an archive of each target, the packages, and four texts.
    expect(names).toHaveLength(2 * made.length + debs + 4);
  });

  test.each(made.map((target) => [target.name, target] as const))("%s", async (name, target) => {
    const head = await Bun.file(bareOf(name)).slice(0, 4).bytes();
    expect(hasFormat(target, head)).toBe(true);
    const archive = file(`${nameOf(target, version)}${target.system === "windows" ? ".zip" : ".tar.gz"}`);
    expect(Bun.file(archive).size).toBeGreaterThan(20_000_000);
    expect(target.preview).toBe(archive.includes("-preview."));
  });
});

test.skipIf(!isMade("linux-x64") || process.arch !== "x64")(
  "linux-x64: the archive's binary serves, and contains no build paths",
  async () => {
    await must(["tar", "-xzf", file(`licmond-${version}-linux-x64.tar.gz`)]);
    const folder = join(place, `licmond-${version}-linux-x64`);
    expect(await must(["./licmond", "version"], folder)).toBe(`licmond ${version} (${commit})\n`);
    expect(await must(["./licmond", "version", "--licenses"], folder)).toBe(
      await Bun.file(join(folder, "THIRD-PARTY-LICENSES")).text(),
    );
    const binary = await Bun.file(join(folder, "licmond")).bytes();
    expect(Buffer.from(binary.buffer).includes(`${root}/`)).toBe(false);

    const port = await freePort();
    const env = { LICMOND_HTTP_PORT: String(port), LICMOND_STORAGE_DIRECTORY: join(place, "data") };
    await using daemon = await start({ program: ["./licmond"], args: ["serve"], port, cwd: folder, env });
    expect(await daemon.stop()).toBe(0);
  },
);

/** Commands that run other targets: an emulated CPU, and musl 1.2.4 with its libstdc++ if installed, as on Alpine. */
const ELSEWHERE = { "linux-arm64": [EMULATOR, "-L", ARM_LIBRARIES], "linux-x64-musl": [] };
for (const [name, emulator] of Object.entries(ELSEWHERE))
  test.skipIf(!isMade(name) || !runsHere([...emulator, bareOf(name)]))(`${name} runs`, async () => {
    expect(await must([...emulator, bareOf(name), "version"])).toBe(`licmond ${version} (${commit})\n`);
  });

function runsHere(argv: string[]): boolean {
  try {
    return Bun.spawnSync([...argv, "--version"], { stdout: "ignore", stderr: "ignore" }).success;
  } catch {
    return false;
  }
}

test.skipIf(!isMade("linux-x64"))("the Debian package: its metadata and files", async () => {
  const deb = file(`licmond_${version}-1_amd64.deb`);
  const fields = await must(["dpkg-deb", "--field", deb]);
  expect(fields).toContain(`\nVersion: ${version}-1\n`);
  expect(fields).toMatch(/^Depends: libc6 \(>= 2\.\d+\), systemd$/m);
  const listed = (await must(["dpkg-deb", "--contents", deb])).trimEnd().split("\n");
  const entries = listed.map((line) => line.split(/ +/));
  expect(new Set(entries.map(([, owner]) => owner))).toEqual(new Set(["root/root"]));
  const times = new Set(entries.map(([, , , day, time]) => `${day} ${time}`));
  expect([...times]).toEqual(["2026-11-18 11:06"]);
  const files = entries.flatMap(([mode, , , , , path]) => (mode?.startsWith("-") ? [`${mode} ${path}`] : []));
  expect(files.sort()).toEqual([
    "-rw-r--r-- ./usr/lib/systemd/system/licmond-hub.service",
    "-rw-r--r-- ./usr/lib/systemd/system/licmond.service",
    "-rw-r--r-- ./usr/lib/sysusers.d/licmond.conf",
    "-rw-r--r-- ./usr/lib/tmpfiles.d/licmond.conf",
    "-rw-r--r-- ./usr/share/bash-completion/completions/licmond",
    "-rw-r--r-- ./usr/share/doc/licmond/THIRD-PARTY-LICENSES.gz",
    "-rw-r--r-- ./usr/share/doc/licmond/changelog.Debian.gz",
    "-rw-r--r-- ./usr/share/doc/licmond/changelog.gz",
    "-rw-r--r-- ./usr/share/doc/licmond/copyright",
    "-rw-r--r-- ./usr/share/fish/vendor_completions.d/licmond.fish",
    "-rw-r--r-- ./usr/share/licmond/licmond.toml",
    "-rw-r--r-- ./usr/share/lintian/overrides/licmond",
    "-rw-r--r-- ./usr/share/man/man1/licmond.1.gz",
    "-rw-r--r-- ./usr/share/zsh/vendor-completions/_licmond",
    "-rwxr-xr-x ./usr/bin/licmond",
  ]);
  const unpacked = join(place, "unpacked");
  await must(["dpkg-deb", "--raw-extract", deb, unpacked]);
  await must(["md5sum", "--strict", "--status", "-c", "DEBIAN/md5sums"], unpacked);
  for (const script of ["preinst", "postinst", "prerm", "postrm"])
    await must(["sh", "-n", join(unpacked, "DEBIAN", script)]);
});

test.skipIf(!isMade("linux-x64"))("the Debian package is reproducible", async () => {
  const licenses = await Bun.file(file("THIRD-PARTY-LICENSES")).text();
  const binary = bareOf("linux-x64");
  const folder = join(place, "again");
  const made = { root, binary, licenses, version, folder, epoch, compression: "none" } as const;
  const again = await buildDeb({ ...made, architecture: "amd64" });
  await must(["cmp", again, file(`licmond_${version}-1_amd64.deb`)]);
  await expect(buildDeb({ ...made, architecture: "arm64" })).rejects.toThrow("is not built for arm64");
});

test.skipIf(!isMade("linux-x64-musl"))(
  "the same bytes from another directory, home, language and time zone",
  async () => {
    const folder = join(place, "musl");
    const targets = TARGETS.filter((target) => target.name === "linux-x64-musl");
    await makeRelease({ root, folder, version, commit, epoch, targets, progress: () => {} });
    const names = targets.map((target) => target.name);
    expect(await differences({ root, folder, commit, epoch, targets: names })).toEqual([]);
    await Bun.write(join(folder, "SHA256SUMS"), `${"0".repeat(64)}  LICENSE\n`);
    expect(await differences({ root, folder, commit, epoch, targets: names })).toContain("LICENSE");
  },
);
