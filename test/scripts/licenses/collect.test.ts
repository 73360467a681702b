import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { collectLicenses } from "../../../scripts/lib/licenses/collect.ts";
import { cleanUp, temporaryDirectory } from "../../store/place.ts";

afterEach(cleanUp);

const library = {
  name: "core",
  url: "https://core.example",
  license: "LGPL-2.0-or-later",
  copyright: ["(c) its people"],
};
const runtime = { bun: "1.2.3", source: "https://runtime.example/license", libraries: [library] };
const manifest = (name: string, license: unknown = "MIT") => ({ name, version: "1.0.0", license });

/**
 * Collects the licenses of a project with these files, of which `used` are bundled, with a Bun that links one
 * library.
 */
async function collect(used: readonly string[], files: Readonly<Record<string, unknown>>, bun = "1.2.3") {
  const root = temporaryDirectory();
  const all: Record<string, unknown> = {
    LICENSE: "licmond's own",
    "docs/licenses/packages.json": {},
    "docs/licenses/relinking.txt": "how to link it again",
    "docs/licenses/texts/LGPL-2.0.txt": "the LGPL",
    "docs/licenses/texts/MIT.txt": "the MIT license",
    "docs/licenses/bun.json": runtime,
    ...files,
  };
  for (const [path, content] of Object.entries(all))
    await Bun.write(join(root, path), typeof content === "string" ? content : JSON.stringify(content));
  const paths = used.map((path) => join(root, path));
  return collectLicenses({ root, bun, paths, wanted: new Set(["MIT"]) });
}

describe("licenses of the binary", () => {
  test("list each used package once, with its texts", async () => {
    const within = ["b/dist/index.js", "b/dist/other.js", "@x/a/index.js", "@x/a/node_modules/b/index.js"];
    const text = await collect(["src/main.ts", ...within.map((path) => `node_modules/${path}`)], {
      "node_modules/b/package.json": manifest("b"),
      "node_modules/b/LICENSE": "text of b",
      "node_modules/b/NOTICE": "notice of b",
      "node_modules/@x/a/package.json": manifest("@x/a", { type: "MIT" }),
      "node_modules/@x/a/license.md": "text of a",
      "node_modules/@x/a/node_modules/b/package.json": { ...manifest("b"), version: "0.9.0" },
      "node_modules/@x/a/node_modules/b/COPYING": "text of the old b",
      "node_modules/unused/package.json": manifest("unused", "GPL-3.0-only"),
    });
    expect(text).toMatch(
      /@x\/a 1\.0\.0 \(MIT\).*text of a.*b 0\.9\.0.*text of the old b.*b 1\.0\.0.*text of b.*notice of b/s,
    );
    expect(text.split("text of b").length).toBe(2);
    for (const part of ["3 packages of npm", "licmond's own"]) expect(text).toContain(part);
    expect(text).not.toContain("unused");
  });

  test("include packages bundled into a file", async () => {
    const text = await collect(["node_modules/ui/bundle.js"], {
      "node_modules/ui/package.json": manifest("ui"),
      "node_modules/ui/LICENSE": "text of ui",
      "node_modules/ui/bundle.js.LICENSE.txt": "notices of the bundle",
      "node_modules/ui/other.js.LICENSE.txt": "notices of a file that is not used",
      "node_modules/ui/bundle.js.map": {
        sources: [
          "webpack://ui/./src/x.js",
          "webpack://ui/./node_modules/@z/deep/y.js",
          "x/node_modules/react/i.js",
        ],
      },
    });
    for (const part of ["notices of the bundle", "these packages: @z/deep, react."])
      expect(text).toContain(part);
    expect(text).not.toContain("not used");
  });

  test("include Bun's libraries, and how to relink them", async () => {
    const text = await collect([], {});
    for (const part of [
      "(c) its people",
      "License: LGPL-2.0-or-later (LGPL-2.0 below)",
      "the LGPL",
      "link it again",
    ])
      expect(text).toContain(part);
    expect(text).not.toContain("the MIT license");
  });

  test("take missing texts from docs/licenses/packages.json", async () => {
    const text = await collect(["node_modules/bare/index.js"], {
      "node_modules/bare/package.json": manifest("bare"),
      "docs/licenses/packages.json": { bare: { license: "MIT", copyright: ["(c) the bare"] } },
    });
    for (const part of ["(c) the bare", "the MIT license"]) expect(text).toContain(part);
  });
});

const P = "node_modules/p/package.json";
const known = (license: string) => ({ "docs/licenses/packages.json": { p: { license, copyright: ["c"] } } });
const zlib = { ...runtime, libraries: [{ ...library, license: "Zlib" }] };

test.each<[string, Record<string, unknown>, string | RegExp, string?]>([
  ["no license text", { [P]: manifest("p") }, "p 1.0.0: it ships no license text"],
  ["a notice alone", { [P]: manifest("p"), "node_modules/p/NOTICE": "n" }, "it ships no license text"],
  [
    "an empty license text",
    { [P]: manifest("p"), "node_modules/p/LICENSE": " \n" },
    "it ships no license text",
  ],
  ["no license", { [P]: { name: "p", version: "1.0.0" } }, "names no license"],
  ["an unwanted license", { [P]: manifest("p", "GPL-3.0-only") }, "not accepted: GPL-3.0-only"],
  ["no version", { [P]: { name: "p" } }, "has no name or no version"],
  [
    "every problem at once",
    { [P]: manifest("p"), ...known("ISC"), "docs/licenses/bun.json": zlib },
    /p 1.*\n.*Zlib/,
  ],
  [
    "a list of libraries for another Bun",
    { [P]: manifest("p") },
    "is for Bun 1.2.3, but this is Bun 1.2.4",
    "1.2.4",
  ],
  [
    "a license whose text is missing",
    { [P]: manifest("p"), "docs/licenses/bun.json": zlib },
    "Zlib.txt does not exist",
  ],
  [
    "knowledge of a text that is there",
    { [P]: manifest("p"), "node_modules/p/LICENSE": "x", ...known("MIT") },
    "it ships a",
  ],
  ["knowledge of another license", { [P]: manifest("p"), ...known("ISC") }, "it is under MIT, and"],
])("rejects %s", async (_, files, message, bun) => {
  await expect(collect(["node_modules/p/index.js"], files, bun)).rejects.toThrow(message);
});

test("rejects an entry for a package that is not in the bundle", async () => {
  await expect(collect([], known("MIT"))).rejects.toThrow("p, which is not in the bundle");
});
