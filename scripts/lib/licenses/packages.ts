import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";

/** An npm package with files in the bundle. */
export interface PackageInside {
  readonly name: string;
  readonly version: string;
  /** The license in package.json, usually an SPDX expression; null if missing. */
  readonly license: string | null;
  /** License files of the package, and license files next to its bundled files. */
  readonly texts: readonly { readonly file: string; readonly text: string }[];
  /** Packages that were bundled into the package's files, according to its source maps. */
  readonly bundled: readonly string[];
}

const LICENSE_FILE = /^(?:licen[cs]e|copying)(?:[.-](?:md|markdown|txt|mit|apache|bsd))?$/i;
const NOTICE_FILE = /^notice(?:\.(?:md|txt))?$/i;

/**
 * Returns the packages of the bundled files, sorted by name. `paths` are absolute; files outside of a `node_modules` are
 * ignored.
 */
export async function packagesOf(paths: readonly string[]): Promise<PackageInside[]> {
  const files = new Map<string, string[]>();
  for (const path of paths) {
    const folder = folderOf(path);
    if (folder === null) continue;
    files.set(folder, [...(files.get(folder) ?? []), path]);
  }
  const found = await Promise.all([...files].map(([folder, used]) => packageIn(folder, used)));
  // Two versions of a package are two entries; one version in two folders is one entry.
  const unique = new Map(found.map((each) => [`${each.name} ${each.version}`, each]));
  return [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

/** `…/node_modules/@scope/name/x.js` → `…/node_modules/@scope/name`. */
function folderOf(path: string): string | null {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0] ?? null;
}

async function packageIn(folder: string, used: readonly string[]): Promise<PackageInside> {
  const manifest: unknown = await Bun.file(join(folder, "package.json")).json();
  const name = stringIn(manifest, "name");
  const version = stringIn(manifest, "version");
  if (name === null || version === null) throw new Error(`${folder}/package.json has no name or no version`);
  const names = (await readdir(folder)).sort();
  const own = [
    ...names.filter((each) => LICENSE_FILE.test(each)),
    ...names.filter((each) => NOTICE_FILE.test(each)),
  ].map((each) => join(folder, each));
  const beside = used.map((path) => `${path}.LICENSE.txt`).filter((path) => existsSync(path));
  const texts = await Promise.all(
    [...own, ...beside.sort()].map(async (path) => ({
      file: basename(path),
      text: (await Bun.file(path).text()).trim(),
    })),
  );
  return {
    name,
    version,
    license: licenseIn(manifest),
    texts: texts.filter(({ text }) => text !== ""),
    bundled: await bundledIn(used),
  };
}

/** Reports whether one of the texts is a license, not only a notice. */
export function hasLicenseText(inside: PackageInside): boolean {
  return inside.texts.some(({ file }) => LICENSE_FILE.test(file));
}

/** Reads `"license": "MIT"` and the forms of old packages: `{ "type": "MIT" }` and `"licenses": [{ "type": "MIT" }]`. */
function licenseIn(manifest: unknown): string | null {
  const single = stringIn(manifest, "license") ?? stringIn(valueIn(manifest, "license"), "type");
  if (single !== null) return single;
  const several = valueIn(manifest, "licenses");
  if (!Array.isArray(several) || several.length === 0) return null;
  const types = several.map((each) => stringIn(each, "type"));
  return types.includes(null) ? null : types.join(" OR ");
}

async function bundledIn(used: readonly string[]): Promise<string[]> {
  const names = new Set<string>();
  for (const path of used) {
    if (!existsSync(`${path}.map`)) continue;
    const map: unknown = await Bun.file(`${path}.map`).json();
    const sources = valueIn(map, "sources");
    if (!Array.isArray(sources)) continue;
    for (const source of sources) {
      const [, name] = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(String(source)) ?? [];
      if (name !== undefined) names.add(name);
    }
  }
  return [...names].sort();
}

function valueIn(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.entries(value).find(([name]) => name === key)?.[1]
    : null;
}

function stringIn(value: unknown, key: string): string | null {
  const found = valueIn(value, key);
  return typeof found === "string" && found !== "" ? found : null;
}
