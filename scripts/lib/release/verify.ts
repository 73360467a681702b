import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Inputs of a release. */
const SOURCES = [
  "src",
  "systemd",
  "scripts",
  "docs",
  "packaging",
  "node_modules",
  "CHANGELOG.md",
  "LICENSE",
  "bunfig.toml",
  "package.json",
  "tsconfig.json",
];

interface VerifyOptions {
  readonly root: string;
  /** Folder of the files to compare, with their SHA256SUMS. */
  readonly folder: string;
  readonly commit: string;
  readonly epoch: number;
  /** Names of the targets. */
  readonly targets: readonly string[];
}

/**
 * Builds the release again from a copy in another directory, with another home, time zone, umask and language. Returns the
 * names of files that differ.
 */
export async function differences(options: VerifyOptions): Promise<string[]> {
  const place = await mkdtemp(join(tmpdir(), "licmond-release-again-"));
  try {
    const copy = join(place, "somewhere else", "sources");
    await mkdir(copy, { recursive: true });
    for (const path of SOURCES) await cp(join(options.root, path), join(copy, path), { recursive: true });
    const out = join(place, "out");
    const argv = [
      ...["bash", "-c", 'umask 077 && exec "$@"', "again", process.execPath, "scripts/lib/release/main.ts"],
      ...["--out", out, "--commit", options.commit, "--allow-dirty"],
      ...options.targets.flatMap((name) => ["--target", name]),
    ];
    const child = Bun.spawn(argv, {
      cwd: copy,
      env: {
        PATH: process.env.PATH ?? "/usr/bin:/bin",
        HOME: place,
        // Reuse the Bun executables of the first build.
        BUN_INSTALL_CACHE_DIR: cacheFolder(),
        SOURCE_DATE_EPOCH: String(options.epoch),
        TZ: "Asia/Kolkata",
        LC_ALL: "C",
      },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    });
    const [said, code] = await Promise.all([child.stderr.text(), child.exited]);
    if (code !== 0) throw new Error(`the second build failed:\n${said}`);
    const [first, second] = [await sums(options.folder), await sums(out)];
    return [...new Set([...first.keys(), ...second.keys()])].filter(
      (name) => first.get(name) !== second.get(name),
    );
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

function cacheFolder(): string {
  const { BUN_INSTALL_CACHE_DIR, BUN_INSTALL, HOME } = process.env;
  return BUN_INSTALL_CACHE_DIR ?? join(BUN_INSTALL ?? join(HOME ?? "/root", ".bun"), "install/cache");
}

async function sums(folder: string): Promise<Map<string, string>> {
  const text = await Bun.file(join(folder, "SHA256SUMS")).text();
  const lines = text.trimEnd().split("\n");
  return new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
}
