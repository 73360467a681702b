import { join } from "node:path";
import { hasLicenseText, type PackageInside, packagesOf } from "./packages.ts";

/**
 * Accepted licenses of bundled packages, spelled as in package.json. All of them only require that their notice is kept. A
 * choice such as `(MIT OR GPL-3.0-only)` needs its own entry.
 */
const WANTED: ReadonlySet<string> = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "MIT-0",
  "Zlib",
]);

/** An entry of docs/licenses/packages.json, for a package without a license text. */
interface KnownPackage {
  readonly license: string;
  readonly copyright: readonly string[];
}

/** An entry of docs/licenses/bun.json. */
interface Library extends KnownPackage {
  readonly name: string;
  readonly url: string;
  readonly note?: string;
}

interface LicenseSources {
  /** The project's root, with LICENSE and docs/licenses. */
  readonly root: string;
  /** Absolute paths of the files in the bundle. */
  readonly paths: readonly string[];
  /** Version of the embedded Bun. */
  readonly bun: string;
  readonly wanted?: ReadonlySet<string>;
}

/**
 * Returns the licenses of everything in the binary as one text. Throws an error with a line for each
 * problem, such as a missing license text, a license that is not accepted or not readable, or a list of
 * libraries for another version of Bun.
 */
export async function collectLicenses(sources: LicenseSources): Promise<string> {
  const { root, bun } = sources;
  const wanted = sources.wanted ?? WANTED;
  const folder = join(root, "docs/licenses");
  const known: Readonly<Record<string, KnownPackage>> = await Bun.file(join(folder, "packages.json")).json();
  const runtime: { bun: string; source: string; libraries: Library[] } = await Bun.file(
    join(folder, "bun.json"),
  ).json();
  const problems: string[] = [];
  if (runtime.bun !== bun)
    problems.push(`docs/licenses/bun.json is for Bun ${runtime.bun}, but this is Bun ${bun}`);

  const packages = await packagesOf(sources.paths);
  const texts = new Set<string>();
  for (const each of packages) {
    const entry = known[each.name];
    const problem = problemOf(each, entry, wanted);
    if (problem !== null) problems.push(`${each.name} ${each.version}: ${problem}`);
    else if (!hasLicenseText(each) && entry !== undefined)
      for (const id of textsOf(entry.license)) texts.add(id);
  }
  for (const name of Object.keys(known)) {
    if (!packages.some((each) => each.name === name))
      problems.push(`docs/licenses/packages.json lists ${name}, which is not in the bundle`);
  }
  for (const { license } of runtime.libraries) for (const id of textsOf(license)) texts.add(id);

  const printed = new Map<string, string>();
  for (const id of [...texts].sort()) {
    const file = Bun.file(join(folder, "texts", `${id}.txt`));
    if (await file.exists()) printed.set(id, (await file.text()).trim());
    else problems.push(`docs/licenses/texts/${id}.txt does not exist`);
  }
  if (problems.length > 0) throw new Error(`licenses:\n  ${problems.join("\n  ")}`);

  const own = await Bun.file(join(root, "LICENSE")).text();
  const relinking = await Bun.file(join(folder, "relinking.txt")).text();
  return [
    heading("licmond", "="),
    own.trim(),
    "The executable contains the software listed below, with its licenses. It consists of licmond's own code,\n" +
      `${packages.length} packages of npm, and the runtime Bun with the libraries that Bun links statically.`,
    heading("Packages", "="),
    ...packages.map((each) => packageText(each, known[each.name])),
    heading(`Bun ${bun} and its libraries`, "="),
    `Source of this list: ${runtime.source}`,
    relinking.trim(),
    ...runtime.libraries.map(libraryText),
    heading("License texts", "="),
    ...[...printed].map(([id, text]) => `${heading(id, "-")}\n\n${text}`),
  ]
    .join("\n\n")
    .concat("\n");
}

function problemOf(
  each: PackageInside,
  entry: KnownPackage | undefined,
  wanted: ReadonlySet<string>,
): string | null {
  if (each.license === null) return "its package.json names no license";
  if (!wanted.has(each.license)) return `its license is not accepted: ${each.license}`;
  if (entry !== undefined && hasLicenseText(each))
    return "it ships a license text, so docs/licenses/packages.json must not list it";
  if (entry !== undefined && entry.license !== each.license)
    return `it is under ${each.license}, and docs/licenses/packages.json says ${entry.license}`;
  if (entry === undefined && !hasLicenseText(each))
    return "it ships no license text; look it up and add it to docs/licenses/packages.json";
  return null;
}

function packageText(each: PackageInside, entry: KnownPackage | undefined): string {
  const parts = [heading(`${each.name} ${each.version} (${each.license ?? "?"})`, "-")];
  if (each.bundled.length > 0)
    parts.push(wrap(`It includes code of these packages: ${each.bundled.join(", ")}.`));
  if (!hasLicenseText(each) && entry !== undefined)
    parts.push(`${entry.copyright.join("\n")}\n${pointer(entry.license)}`);
  for (const { file, text } of each.texts) parts.push(each.texts.length > 1 ? `[${file}]\n\n${text}` : text);
  return parts.join("\n\n");
}

function libraryText({ name, url, license, copyright, note }: Library): string {
  const lines = [
    wrap(name),
    url,
    ...copyright,
    ...(note === undefined ? [] : [wrap(note)]),
    pointer(license),
  ];
  return lines.join("\n");
}

function pointer(license: string): string {
  const texts = textsOf(license);
  return `License: ${license}${texts.length > 0 ? ` (${texts.join(", ")} below)` : ""}`;
}

/** Returns the texts needed for `A AND B`. `LGPL-2.1-or-later` needs the text of `LGPL-2.1`. */
function textsOf(license: string): string[] {
  return license.split(" AND ").map((id) => id.replace(/-(?:only|or-later)$/, ""));
}

function heading(text: string, line: "=" | "-"): string {
  return `${text}\n${line.repeat(Math.min(text.length, 120))}`;
}

function wrap(text: string): string {
  return text.replace(/(.{1,118})(?: +|$)/g, "$1\n").trimEnd();
}
