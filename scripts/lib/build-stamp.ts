import { join } from "node:path";

/** Inputs of the binary, relative to the root. */
const INPUTS = [
  "src/**/*",
  "systemd/*",
  "scripts/build.ts",
  "scripts/lib/compile.ts",
  "scripts/lib/page.ts",
  "scripts/lib/licenses/*.ts",
  "docs/licenses/**/*",
  "LICENSE",
  "package.json",
  "bun.lock",
  "tsconfig.json",
];

interface BuildIdentity {
  /** Version in package.json. */
  readonly version: string;
  /** Git commit, with `-dirty` if the inputs differ from it; `unknown` outside of a repository. */
  readonly commit: string;
  /** Identifies the build: builds with equal stamps are equal. */
  readonly stamp: string;
}

/** Identifies the build of the tree at `root`. Reads every input, which takes some milliseconds. */
export async function buildIdentity(root: string): Promise<BuildIdentity> {
  const manifest: unknown = await Bun.file(join(root, "package.json")).json();
  const version =
    typeof manifest === "object" && manifest !== null && "version" in manifest ? manifest.version : null;
  if (typeof version !== "string") throw new Error(`${root}/package.json has no "version"`);
  const commit = commitOf(root);
  const hash = new Bun.CryptoHasher("sha256");
  hash.update(`${Bun.version} ${version} ${commit}\n`);
  for (const path of await inputsOf(root)) {
    hash.update(`${path}\0`);
    hash.update(await Bun.file(join(root, path)).bytes());
    hash.update("\0");
  }
  return { version, commit, stamp: hash.digest("hex") };
}

async function inputsOf(root: string): Promise<string[]> {
  const paths = new Set<string>();
  for (const pattern of INPUTS) {
    for await (const path of new Bun.Glob(pattern).scan({ cwd: root, onlyFiles: true })) paths.add(path);
  }
  return [...paths].sort();
}

function commitOf(root: string): string {
  // `--show-prefix` is empty only at the top of a repository. A copy inside another repository must not get its commit.
  const commit = outputOf(["git", "rev-parse", "--show-prefix", "HEAD"], root);
  if (commit === null || commit.includes("\n")) return "unknown";
  const inputs = INPUTS.map((pattern) => `:(glob)${pattern}`);
  const changes = outputOf(["git", "status", "--porcelain", "--", ...inputs], root);
  return changes === "" ? commit : `${commit}-dirty`;
}

/** Runs a program and returns its output, or null if it is missing or fails. */
export function outputOf(argv: string[], cwd: string): string | null {
  try {
    const result = Bun.spawnSync(argv, { cwd, stdin: "ignore", stdout: "pipe", stderr: "ignore" });
    return result.success ? result.stdout.toString().trim() : null;
  } catch {
    return null;
  }
}
