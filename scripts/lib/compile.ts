import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { collectLicenses } from "./licenses/collect.ts";
import { buildPage, withPage } from "./page.ts";

export interface CompileOptions {
  /** The project's root. */
  readonly root: string;
  /** Where the executable goes: `…/licmond`. An old one stays whole until the new one is. */
  readonly outfile: string;
  readonly version: string;
  readonly commit: string;
  /** For another machine; default: this one. Bun fetches its executable for that machine once. */
  readonly target?: Bun.Build.CompileTarget;
}

/**
 * Builds the executable: the one place that says how. Equal sources, versions and Buns make equal bytes, wherever they
 * lie. Answers the licenses of everything inside; throws with what the bundler said.
 */
export async function compile(options: CompileOptions): Promise<{ readonly licenses: string }> {
  const { root, outfile, version, commit, target } = options;
  const shared = {
    entrypoints: [join(root, "src/main.ts"), ...(await workers(root))],
    root: join(root, "src"),
    target: "bun",
    format: "esm",
    // A chunk for each lazy import: in one bundle the imports of node: modules of all of them are hoisted to its top,
    // so that a daemon that sends no mail loads TLS, streams and zlib too (3.5 MB when idle).
    splitting: true,
    // Identifiers stay: stack traces keep their names, and Elysia reads the source of its handlers.
    minify: { whitespace: true, syntax: true, identifiers: false },
    define: { BUILD_VERSION: JSON.stringify(version), BUILD_COMMIT: JSON.stringify(commit) },
    throw: false,
  } satisfies Bun.BuildConfig;
  const page = await buildPage(root);
  const licenses = await licensesOf(root, { ...shared, plugins: [withPage(page)] }, page.inputs);

  // The name of the outfile is embedded: a folder of its own keeps it (and writing over an executable that runs fails
  // with ETXTBSY).
  const fresh = join(dirname(outfile), `.new-${basename(outfile)}`);
  await rm(fresh, { recursive: true, force: true });
  try {
    const result = await Bun.build({
      ...shared,
      bytecode: true,
      sourcemap: "linked",
      plugins: [withPage(page), withLicenses(licenses)],
      // A daemon started in somebody's folder must not run what lies there.
      compile: {
        outfile: join(fresh, "licmond"),
        autoloadDotenv: false,
        autoloadBunfig: false,
        ...(target !== undefined && { target }),
      },
    });
    if (!result.success) throw new Error(`the build failed:\n${result.logs.map(String).join("\n")}`);
    // The maps are inside the executable; the files left beside it are of no use.
    const windows = join(fresh, "licmond.exe");
    await rename(existsSync(windows) ? windows : join(fresh, "licmond"), outfile);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return { licenses };
}

/**
 * Puts the licenses in the place of the file that stands for them in the sources. Not by the build's option `files`:
 * with that, the path of the file gets into the debug id of the bundle, and another directory makes other bytes.
 */
function withLicenses(contents: string): Bun.BunPlugin {
  return {
    name: "licenses",
    setup(build) {
      build.onLoad({ filter: /\/src\/cli\/third-party-licenses\.txt$/ }, () => ({
        contents,
        loader: "file",
      }));
    },
  };
}

/** Bundles once without writing anything, to see which files are inside, and collects the licenses of these and `others`. */
async function licensesOf(root: string, shared: Bun.BuildConfig, others: readonly string[]): Promise<string> {
  const result = await Bun.build({ ...shared, metafile: true });
  if (!result.success || result.metafile === undefined)
    throw new Error(`the build failed:\n${result.logs.map(String).join("\n")}`);
  const paths = [...Object.keys(result.metafile.inputs).map((path) => resolve(path)), ...others];
  return collectLicenses({ root, paths, bun: Bun.version });
}

/** Workers are entry points of their own: the bundler does not follow `new Worker(…)`. */
async function workers(root: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const path of new Bun.Glob("src/workers/*.ts").scan({ cwd: root })) paths.push(join(root, path));
  return paths.sort();
}
