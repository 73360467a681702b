import { dirname, join, relative } from "node:path";

export const ROOT = join(import.meta.dir, "../..");

/** Paths are relative to the root, with `/`. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** Returns the matching files, sorted by path. */
export async function filesOf(pattern: string): Promise<SourceFile[]> {
  const paths: string[] = [];
  for await (const path of new Bun.Glob(pattern).scan({ cwd: ROOT, onlyFiles: true, dot: true }))
    paths.push(path);
  paths.sort();
  return Promise.all(paths.map(async (path) => ({ path, text: await Bun.file(join(ROOT, path)).text() })));
}

export function isTypeScript(file: SourceFile): boolean {
  return /\.tsx?$/.test(file.path);
}

export interface Import {
  /** Name of the import in the code: `../domain/words.ts`, `elysia`, `node:fs`. */
  readonly specifier: string;
  /** Path of the imported file from the root; null for packages. */
  readonly file: string | null;
}

/** Returns every import and re-export of a file, including type imports, which Bun's scanner leaves out. */
export function importsOf(source: SourceFile): Import[] {
  const specifiers = new Set<string>();
  for (const [, from, bare, dynamic] of source.text.matchAll(
    /^[ \t]*(?:(?:import|export)\b[^;"'`]*?\bfrom\s*["']([^"'\n]+)["']|import\s*["']([^"'\n]+)["'])|\bimport\(\s*["']([^"'\n]+)["']/gm,
  )) {
    specifiers.add(from ?? bare ?? dynamic ?? "");
  }
  return [...specifiers].map((specifier) => ({
    specifier,
    file: specifier.startsWith(".") ? relative(ROOT, join(ROOT, dirname(source.path), specifier)) : null,
  }));
}

const loaderOf = ({ path }: SourceFile) => (path.endsWith("x") ? "tsx" : "ts");

/** Returns the code of a file without comments and types. */
export function codeOf(source: SourceFile): string {
  return new Bun.Transpiler({ loader: loaderOf(source), target: "bun" }).transformSync(source.text);
}

/** Returns the imports that Bun sees, without type imports. */
export function runtimeImportsOf(source: SourceFile): string[] {
  return (
    new Bun.Transpiler({ loader: loaderOf(source), target: "bun" })
      .scanImports(source.text)
      .map((found) => found.path)
      // JSX compiles to imports that are not in the file.
      .filter((path) => !/^react(?:\/|$)/.test(path))
  );
}
