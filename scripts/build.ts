/**
 * Builds `dist/licmond`: one executable with everything inside. Options:
 *   --if-changed     do nothing if the binary is up to date
 */
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { buildIdentity } from "./lib/build-stamp.ts";
import { compile } from "./lib/compile.ts";

const root = join(import.meta.dir, "..");
const outfile = join(root, "dist/licmond");
const stampFile = join(root, "dist/.stamp");

const { version, commit, stamp } = await buildIdentity(root);
const built = existsSync(outfile) && existsSync(stampFile) ? await Bun.file(stampFile).text() : null;

if (process.argv.includes("--if-changed") && built === stamp) {
  console.log(`dist/licmond ${version} (${commit}) is up to date`);
} else {
  try {
    await build();
  } catch (error) {
    console.error(`licmond: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}

async function build(): Promise<void> {
  const startedAt = performance.now();
  await mkdir(join(root, "dist"), { recursive: true });
  await rm(stampFile, { force: true });
  await compile({ root, outfile, version, commit });
  await Bun.write(stampFile, stamp);
  const megabytes = (Bun.file(outfile).size / 1e6).toFixed(1);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(
    `${relative(process.cwd(), outfile)} ${version} (${commit}), ${megabytes} MB, built in ${seconds} s`,
  );
}
