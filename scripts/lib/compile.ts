import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { collectLicenses } from "./licenses/collect.ts";
import { buildPage, withPage } from "./page.ts";

interface CompileOptions {
  /** The project's root. */
  readonly root: string;
  /** Path of the executable: `…/licmond`. It is replaced only after the build succeeds. */
  readonly outfile: string;
  readonly version: string;
  readonly commit: string;
  /**
   * Target of the executable; default: this machine. For another target, Bun downloads its own executable
   * once.
   */
  readonly target?: Bun.Build.CompileTarget;
}

/**
 * Builds the executable. The bytes depend only on the sources, the versions and Bun, not on the directory. Returns the
 * licenses of everything inside. Throws the bundler's errors.
 */
export async function compile(options: CompileOptions): Promise<{ readonly licenses: string }> {
  const { root, outfile, version, commit, target } = options;
  const shared = {
    entrypoints: [join(root, "src/main.ts"), ...(await workers(root))],
    root: join(root, "src"),
    target: "bun",
    format: "esm",
    // Splitting makes a chunk of each lazy import. A single bundle hoists all imports of node: modules to its top, so a
    // daemon that sends no mail would load TLS, streams and zlib (3.5 MB when idle).
    splitting: true,
    // Identifiers stay: stack traces need the names, and Elysia reads the source of its handlers.
    minify: { whitespace: true, syntax: true, identifiers: false },
    define: { BUILD_VERSION: JSON.stringify(version), BUILD_COMMIT: JSON.stringify(commit) },
    throw: false,
  } satisfies Bun.BuildConfig;
  const page = await buildPage(root);
  const licenses = await licensesOf(root, { ...shared, plugins: [withPage(page)] }, page.inputs);

  // Bun embeds the name of the outfile, so build in another folder under the same name. Writing over a running executable
  // fails with ETXTBSY.
  const fresh = join(dirname(outfile), `.new-${basename(outfile)}`);
  await rm(fresh, { recursive: true, force: true });
  try {
    const result = await Bun.build({
      ...shared,
      bytecode: true,
      sourcemap: "linked",
      plugins: [withPage(page), withLicenses(licenses)],
      // A daemon must not run files from the folder that it was started in.
      compile: {
        outfile: join(fresh, "licmond"),
        autoloadDotenv: false,
        autoloadBunfig: false,
        ...(target !== undefined && { target }),
      },
    });
    if (!result.success) throw new Error(`the build failed:\n${result.logs.map(String).join("\n")}`);
    // The source maps are inside the executable; drop the separate files.
    const windows = join(fresh, "licmond.exe");
    await rename(existsSync(windows) ? windows : join(fresh, "licmond"), outfile);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return { licenses };
}

/**
 * Replaces the placeholder of the licenses. The bundler's option `files` would put the path into the bundle's debug id, so
 * another directory would make other bytes.
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

/** Bundles once without output to find the files inside. Collects the licenses of these files and of `others`. */
async function licensesOf(root: string, shared: Bun.BuildConfig, others: readonly string[]): Promise<string> {
  const result = await Bun.build({ ...shared, metafile: true });
  if (!result.success || result.metafile === undefined)
    throw new Error(`the build failed:\n${result.logs.map(String).join("\n")}`);
  const paths = [...Object.keys(result.metafile.inputs).map((path) => resolve(path)), ...others];
  return collectLicenses({ root, paths, bun: Bun.version });
}

/** Workers are separate entry points, because the bundler does not follow `new Worker(…)`. */
async function workers(root: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const path of new Bun.Glob("src/workers/*.ts").scan({ cwd: root })) paths.push(join(root, path));
  return paths.sort();
}
