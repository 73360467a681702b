/** Creates the files of a release. `scripts/release` calls it with the pinned Bun. */
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildIdentity, outputOf } from "../build-stamp.ts";
import { makeRelease } from "./make-release.ts";
import { TARGETS } from "./targets.ts";
import { differences } from "./verify.ts";

const HELP = `scripts/release [options]

Creates dist/release/<version>/ with the executable and an archive for each target, the .deb packages, the license texts,
a README and SHA256SUMS. The version is the one in package.json. CHANGELOG.md must have a section for it.

  --target <name>    only this target; may be repeated
                     ${TARGETS.map((target) => target.name).join(", ")}
  --verify           build everything again in another directory and compare the bytes
  --out <dir>        output folder (default: dist/release/<version>)
  --allow-dirty      allow uncommitted changes and a missing section in CHANGELOG.md
  --commit <hash>    the commit, if the sources are not in a git repository
  --help             show this text

All files have the time of the commit, or SOURCE_DATE_EPOCH if set. In the first run, Bun downloads its executables for
other machines from the npm registry. Exit codes: 0 success, 1 failed or not reproducible, 2 wrong usage.`;

const root = join(import.meta.dir, "../../..");

class UsageError extends Error {}

async function main(args: string[]): Promise<void> {
  const { values } = parsed(args);
  if (values.help) return console.log(HELP);
  const unknown = (values.target ?? []).filter((name) => !TARGETS.some((target) => target.name === name));
  if (unknown.length > 0)
    throw new UsageError(
      `unknown target ${unknown.join(", ")}; the targets are ${TARGETS.map((target) => target.name).join(", ")}`,
    );
  const targets = TARGETS.filter((target) => values.target?.includes(target.name) ?? true);
  if (targets.some((target) => target.deb !== null) && Bun.which("dpkg-deb") === null)
    throw new Error("dpkg-deb is missing; it builds the .deb packages (Debian: apt-get install dpkg)");

  const identity = await buildIdentity(root);
  const { version } = identity;
  const commit = values.commit ?? identity.commit;
  if (!values["allow-dirty"]) {
    if (commit === "unknown") throw new Error("this is not a git repository; give the commit with --commit");
    if (commit.endsWith("-dirty"))
      throw new Error("there are uncommitted changes; commit them, or try with --allow-dirty");
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
    console.log("building again in another directory …");
    const names = targets.map((target) => target.name);
    const different = await differences({ root, folder, commit, epoch, targets: names });
    if (different.length > 0) throw new Error(`not reproducible: ${different.join(", ")}`);
    console.log("reproducible: both builds have the same bytes");
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
        ? "this is not a git repository, so the time of the release is unknown; set SOURCE_DATE_EPOCH"
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
