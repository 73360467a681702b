import { chmod, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { compile } from "../compile.ts";
import { type ArchiveFile, tarGz, zip } from "./archive.ts";
import { buildDeb } from "./deb.ts";
import { elfNeeds, newestGlibc } from "./elf-needs.ts";
import { archiveReadme, releaseReadme } from "./readme.ts";
import { bareName, hasFormat, nameOf, type ReleaseTarget } from "./targets.ts";

interface ReleaseOptions {
  /** The project's root. */
  readonly root: string;
  /** Output folder. Old files are deleted after all new ones are made. */
  readonly folder: string;
  readonly version: string;
  readonly commit: string;
  /** Time of all entries, in seconds since 1970. */
  readonly epoch: number;
  readonly targets: readonly ReleaseTarget[];
  /** Compression of the packages. Default: xz, a minute each; `none` for tests. */
  readonly compression?: "xz" | "none";
  /** Called after each step. */
  readonly progress: (line: string) => void;
}

/**
 * Creates the files of a release and their SHA256SUMS, one target after the other. Equal sources and options give equal
 * bytes. Throws with the target's name on failure, and leaves no files.
 */
export async function makeRelease(options: ReleaseOptions): Promise<void> {
  const { root, folder, version, epoch, targets, progress } = options;
  const fresh = `${folder}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true });
  try {
    const glibc = new Map<ReleaseTarget, string | null>();
    let licenses = "";
    for (const target of targets) {
      const startedAt = performance.now();
      try {
        licenses = await makeTarget(options, target, fresh, glibc);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw new Error(`${target.name}: ${why}${offlineHint(why)}`);
      }
      progress(`${target.name}: done in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    }
    const debs = targets.flatMap((target) =>
      target.deb === null ? [] : [{ target, architecture: target.deb }],
    );
    await Promise.all(
      debs.map(async ({ target, architecture }) => {
        const startedAt = performance.now();
        const binary = join(fresh, bareName(target, version));
        const compression = options.compression ?? "xz";
        await buildDeb({ root, binary, licenses, version, architecture, folder: fresh, epoch, compression });
        progress(`${architecture}.deb: done in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
      }),
    );
    await Bun.write(join(fresh, "LICENSE"), Bun.file(join(root, "LICENSE")));
    await Bun.write(join(fresh, "CHANGELOG.md"), Bun.file(join(root, "CHANGELOG.md")));
    await Bun.write(join(fresh, "THIRD-PARTY-LICENSES"), licenses);
    await Bun.write(
      join(fresh, "README.txt"),
      releaseReadme(targets, version, (target) => glibc.get(target) ?? null),
    );
    await Bun.write(join(fresh, "SHA256SUMS"), await sumsOf(fresh));
    await rm(folder, { recursive: true, force: true });
    await rename(fresh, folder);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/** Creates the bare executable and the archive of one target. Returns the licenses. */
async function makeTarget(
  options: ReleaseOptions,
  target: ReleaseTarget,
  fresh: string,
  glibc: Map<ReleaseTarget, string | null>,
): Promise<string> {
  const { root, version, commit, epoch } = options;
  const bare = join(fresh, bareName(target, version));
  const { licenses } = await compile({ root, outfile: bare, version, commit, target: target.bun });
  await chmod(bare, 0o755);
  const content = await Bun.file(bare).bytes();
  if (!hasFormat(target, content)) throw new Error("the executable does not have the format of its system");
  glibc.set(target, target.libc === "glibc" ? newestGlibc(elfNeeds(content)) : null);

  const text = (words: string) => new TextEncoder().encode(words);
  const file = (path: string) => Bun.file(join(root, path)).bytes();
  const name = nameOf(target, version);
  const files: ArchiveFile[] = [
    { path: target.system === "windows" ? "licmond.exe" : "licmond", content, executable: true },
    { path: "LICENSE", content: await file("LICENSE") },
    { path: "CHANGELOG.md", content: await file("CHANGELOG.md") },
    { path: "THIRD-PARTY-LICENSES", content: text(licenses) },
    { path: "README.txt", content: text(archiveReadme(target, version, glibc.get(target) ?? null)) },
  ];
  if (target.system === "linux") {
    for (const path of await systemdFiles(root)) files.push({ path, content: await file(path) });
  }
  const inFolder = files.map((each) => ({ ...each, path: `${name}/${each.path}` }));
  if (target.system === "windows") await Bun.write(join(fresh, `${name}.zip`), zip(inFolder, epoch));
  else await Bun.write(join(fresh, `${name}.tar.gz`), tarGz(inFolder, epoch));
  return licenses;
}

async function systemdFiles(root: string): Promise<string[]> {
  const names = await readdir(join(root, "systemd"));
  return names.sort().map((name) => `systemd/${name}`);
}

/** Formats sums as `sha256sum` does, sorted by name. */
async function sumsOf(folder: string): Promise<string> {
  const names = (await readdir(folder)).sort();
  const lines = await Promise.all(
    names.map(async (name) => {
      const hash = new Bun.CryptoHasher("sha256").update(await Bun.file(join(folder, name)).bytes());
      return `${hash.digest("hex")}  ${name}\n`;
    }),
  );
  return lines.join("");
}

function offlineHint(message: string): string {
  return /Failed to download/.test(message)
    ? "\nBun downloads its executable for this target from the npm registry once, but the registry is not reachable." +
        "\nGo online once, or build only the targets of this machine with --target."
    : "";
}
