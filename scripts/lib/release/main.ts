/** Creates the files of a release. `scripts/release` calls it with the pinned Bun. */
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildIdentity, outputOf } from "../build-stamp.ts";
import { makeRelease } from "./make-release.ts";
import { TARGETS } from "./targets.ts";
import { differences } from "./verify.ts";

const HELP = `scripts/release [options]

Makes dist/release/<version>/: for every target the executable and an archive, the .deb packages, the license texts, a
README and SHA256SUMS. The version is package.json's; CHANGELOG.md has to tell of it.

  --target <name>    this one only; can be given several times
                     ${TARGETS.map((target) => target.name).join(", ")}
  --verify           make everything a second time in another directory, and compare each byte
  --out <dir>        where the files go (default: dist/release/<version>)
  --allow-dirty      for trying out: what is not committed may be inside, and CHANGELOG.md may be silent
  --commit <hash>    what \`licmond version\` tells, when the sources are no git repository
  --help             this text

The time of every file is the commit's, or SOURCE_DATE_EPOCH. The first time, Bun fetches its executables for other
machines from the npm registry. Exit codes: 0 made (and the same again), 1 failed or not the same, 2 usage.`;

const root = join(import.meta.dir, "../../..");

class UsageError extends Error {}

async function main(args: string[]): Promise<void> {
  const { values } = parsed(args);
  if (values.help) return console.log(HELP);
  const unknown = (values.target ?? []).filter((name) => !TARGETS.some((target) => target.name === name));
  if (unknown.length > 0)
    throw new UsageError(
      `no target ${unknown.join(", ")}: ${TARGETS.map((target) => target.name).join(", ")}`,
    );
  const targets = TARGETS.filter((target) => values.target?.includes(target.name) ?? true);
  if (targets.some((target) => target.deb !== null) && Bun.which("dpkg-deb") === null)
    throw new Error("dpkg-deb is not there, which makes the .deb packages (Debian: apt-get install dpkg)");

  const identity = await buildIdentity(root);
  const { version } = identity;
  const commit = values.commit ?? identity.commit;
  if (!values["allow-dirty"]) {
    if (commit === "unknown") throw new Error("this is no git repository: name the commit with --commit");
    if (commit.endsWith("-dirty"))
      throw new Error("there are changes that are not committed; for trying out: --allow-dirty");
    const log = await Bun.file(join(root, "CHANGELOG.md")).text();
    if (!log.split("\n").some((line) => line === `## ${version}` || line.startsWith(`## ${version} `)))
      throw new Error(
        `CHANGELOG.md has no section "## ${version}"; write it, or change package.json's version`,
      );
  }
  const epoch = commitTime();
  const folder = resolve(values.out ?? join(root, "dist/release", version));

  console.log(`licmond ${version} (${commit}), ${new Date(epoch * 1000).toISOString()}`);
  await makeRelease({ root, folder, version, commit, epoch, targets, progress: (line) => console.log(line) });
  console.log(`${relative(process.cwd(), folder) || folder}: ${targets.length} targets, SHA256SUMS`);

  if (values.verify) {
    console.log("making it again in another directory …");
    const names = targets.map((target) => target.name);
    const different = await differences({ root, folder, commit, epoch, targets: names });
    if (different.length > 0) throw new Error(`not reproducible: ${different.join(", ")}`);
    console.log("reproducible: the same bytes twice");
  }
}

function parsed(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        target: { type: "string", multiple: true },
        verify: { type: "boolean", default: false },
        out: { type: "string" },
        "allow-dirty": { type: "boolean", default: false },
        commit: { type: "string" },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** Returns SOURCE_DATE_EPOCH (reproducible-builds.org) or the time of the commit, in seconds. */
function commitTime(): number {
  const given = process.env.SOURCE_DATE_EPOCH;
  const text = given ?? outputOf(["git", "log", "-1", "--format=%ct"], root) ?? "";
  // Zip times start in 1980.
  if (!/^\d{1,10}$/.test(text) || Number(text) < 315_532_800)
    throw new Error(
      given === undefined
        ? "this is no git repository, so the time of the release is unknown: set SOURCE_DATE_EPOCH"
        : `SOURCE_DATE_EPOCH="${given}" is not a number of seconds after 1980`,
    );
  return Number(text);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(`licmond: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
