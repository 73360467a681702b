/**
 * Builds `dist/licmond`: one executable with everything inside. Options:
 *   --if-changed     do nothing when the sources are those of the binary that is there
 */
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { buildIdentity } from "./lib/build-stamp.ts";

const root = join(import.meta.dir, "..");
const outfile = join(root, "dist/licmond");
const stampFile = join(root, "dist/.stamp");

const { version, commit, stamp } = await buildIdentity(root);
const built = existsSync(outfile) && existsSync(stampFile) ? await Bun.file(stampFile).text() : null;

if (process.argv.includes("--if-changed") && built === stamp) {
  console.log(`dist/licmond ${version} (${commit}) is up to date`);
} else {
  await build();
}

async function build(): Promise<void> {
  const startedAt = performance.now();
  await mkdir(join(root, "dist"), { recursive: true });
  await rm(stampFile, { force: true });
  // The name of the outfile is embedded: a folder of its own keeps it, and the old binary stays whole until the end
  // (writing over an executable that runs fails with ETXTBSY).
  const fresh = join(root, "dist/.new");
  await rm(fresh, { recursive: true, force: true });
  const result = await Bun.build({
    entrypoints: [join(root, "src/main.ts"), ...(await workers())],
    root: join(root, "src"),
    target: "bun",
    format: "esm",
    bytecode: true,
    // Identifiers stay: stack traces keep their names, and Elysia reads the source of its handlers.
    minify: { whitespace: true, syntax: true, identifiers: false },
    sourcemap: "linked",
    define: { BUILD_VERSION: JSON.stringify(version), BUILD_COMMIT: JSON.stringify(commit) },
    // A daemon started in somebody's folder must not run what lies there.
    compile: { outfile: join(fresh, "licmond"), autoloadDotenv: false, autoloadBunfig: false },
    throw: false,
  });
  for (const message of result.logs) console.error(message);
  if (!result.success) {
    console.error("licmond: the build failed");
    process.exit(1);
  }
  await rename(join(fresh, "licmond"), outfile);
  // The map is inside the binary; the file left beside it is of no use.
  await rm(fresh, { recursive: true, force: true });
  await Bun.write(stampFile, stamp);
  const megabytes = (Bun.file(outfile).size / 1e6).toFixed(1);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(
    `${relative(process.cwd(), outfile)} ${version} (${commit}), ${megabytes} MB, built in ${seconds} s`,
  );
}

/** Workers are entry points of their own: the bundler does not follow `new Worker(…)`. */
async function workers(): Promise<string[]> {
  const paths: string[] = [];
  for await (const path of new Bun.Glob("src/workers/*.ts").scan({ cwd: root })) paths.push(join(root, path));
  return paths.sort();
}
