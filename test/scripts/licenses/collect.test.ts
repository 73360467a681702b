import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { collectLicenses } from "../../../scripts/lib/licenses/collect.ts";

let place = "";
beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), "licmond-licenses-"));
});
afterAll(() => rm(place, { recursive: true, force: true }));

let number = 0;
/** A project of these files, with a Bun 1.2.3 that links one library. */
async function project(files: Readonly<Record<string, unknown>>): Promise<string> {
  number += 1;
  const root = join(place, String(number));
  const all: Record<string, unknown> = {
    LICENSE: "licmond's own",
    "docs/licenses/packages.json": {},
    "docs/licenses/relinking.txt": "how to link it again",
    "docs/licenses/texts/LGPL-2.0.txt": "the LGPL",
    "docs/licenses/texts/MIT.txt": "the MIT license",
    "docs/licenses/bun.json": {
      bun: "1.2.3",
      source: "https://runtime.example/license",
      libraries: [
        {
          name: "core",
          url: "https://core.example",
          license: "LGPL-2.0-or-later",
          copyright: ["(c) its people"],
        },
      ],
    },
    ...files,
  };
  for (const [path, content] of Object.entries(all)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), typeof content === "string" ? content : JSON.stringify(content));
  }
  return root;
}

function collect(root: string, used: string[], bun = "1.2.3"): Promise<string> {
  return collectLicenses({
    root,
    bun,
    paths: used.map((path) => join(root, path)),
    wanted: new Set(["MIT"]),
  });
}

const manifest = (name: string, license: unknown = "MIT") => ({ name, version: "1.0.0", license });

describe("what is inside", () => {
  test("each package used, once, with its texts; nothing of the others", async () => {
    const root = await project({
      "src/main.ts": "",
      "node_modules/b/package.json": manifest("b"),
      "node_modules/b/LICENSE": "text of b",
      "node_modules/b/NOTICE": "notice of b",
      "node_modules/@x/a/package.json": manifest("@x/a", { type: "MIT" }),
      "node_modules/@x/a/license.md": "text of a",
      "node_modules/@x/a/node_modules/b/package.json": { ...manifest("b"), version: "0.9.0" },
      "node_modules/@x/a/node_modules/b/COPYING": "text of the old b",
      "node_modules/unused/package.json": manifest("unused", "GPL-3.0-only"),
    });
    const text = await collect(root, [
      "src/main.ts",
      "node_modules/b/dist/index.js",
      "node_modules/b/dist/other.js",
      "node_modules/@x/a/index.js",
      "node_modules/@x/a/node_modules/b/index.js",
    ]);
    const places = [
      "@x/a 1.0.0 (MIT)",
      "text of a",
      "b 0.9.0",
      "text of the old b",
      "b 1.0.0",
      "text of b",
      "notice of b",
    ];
    const found = places.map((each) => text.indexOf(each));
    expect(found).toEqual([...found].sort((a, b) => a - b));
    expect(found).not.toContain(-1);
    expect(text.split("text of b").length).toBe(2);
    expect(text).toContain("3 packages of npm");
    expect(text).not.toContain("unused");
    expect(text).toContain("licmond's own");
  });

  test("what somebody bundled into a file: the notices beside it, and the names in its source map", async () => {
    const root = await project({
      "node_modules/ui/package.json": manifest("ui"),
      "node_modules/ui/LICENSE": "text of ui",
      "node_modules/ui/bundle.js.LICENSE.txt": "notices of the bundle",
      "node_modules/ui/other.js.LICENSE.txt": "notices of a file that is not used",
      "node_modules/ui/bundle.js.map": {
        sources: [
          "webpack://ui/./src/x.js",
          "webpack://ui/./node_modules/@z/deep/y.js",
          "webpack://ui/node_modules/react/i.js",
        ],
      },
    });
    const text = await collect(root, ["node_modules/ui/bundle.js"]);
    expect(text).toContain("notices of the bundle");
    expect(text).toContain("in one file: @z/deep, react.");
    expect(text).not.toContain("not used");
  });

  test("Bun's libraries, their texts, and how to link them again", async () => {
    const text = await collect(await project({}), []);
    expect(text).toContain("(c) its people");
    expect(text).toContain("License: LGPL-2.0-or-later (LGPL-2.0 below)");
    expect(text).toContain("the LGPL");
    expect(text).toContain("how to link it again");
    expect(text).not.toContain("the MIT license");
  });

  test("a package without a text gets that of docs/licenses/packages.json", async () => {
    const root = await project({
      "node_modules/bare/package.json": manifest("bare"),
      "docs/licenses/packages.json": { bare: { license: "MIT", copyright: ["(c) the bare"] } },
    });
    const text = await collect(root, ["node_modules/bare/index.js"]);
    expect(text).toContain("(c) the bare");
    expect(text).toContain("the MIT license");
  });
});

describe("refuses", () => {
  const cases: [string, Record<string, unknown>, string][] = [
    ["no license text", { "package.json": manifest("p") }, "p 1.0.0: it ships no license text"],
    ["a notice alone", { "package.json": manifest("p"), NOTICE: "n" }, "it ships no license text"],
    ["an empty license text", { "package.json": manifest("p"), LICENSE: " \n" }, "it ships no license text"],
    ["no license", { "package.json": { name: "p", version: "1.0.0" }, LICENSE: "x" }, "names no license"],
    [
      "an unwanted one",
      { "package.json": manifest("p", "GPL-3.0-only"), LICENSE: "x" },
      "not wanted: GPL-3.0-only",
    ],
    [
      "an unreadable one",
      { "package.json": manifest("p", "SEE LICENSE IN x"), LICENSE: "x" },
      "no license expression",
    ],
    ["no version", { "package.json": { name: "p" }, LICENSE: "x" }, "has no name or no version"],
  ];
  test.each(cases)("%s", async (_, files, message) => {
    const inside = Object.entries(files).map(([path, content]) => [`node_modules/p/${path}`, content]);
    const root = await project(Object.fromEntries(inside));
    await expect(collect(root, ["node_modules/p/index.js"])).rejects.toThrow(message);
  });

  test("every problem at once", async () => {
    const root = await project({
      "node_modules/p/package.json": manifest("p"),
      "node_modules/q/package.json": manifest("q", "AGPL-3.0-only"),
    });
    const refused = collect(root, ["node_modules/p/i.js", "node_modules/q/i.js"]);
    await expect(refused).rejects.toThrow(/p 1\.0\.0: .*\n {2}q 1\.0\.0: /);
  });

  test("a list of libraries for another Bun", async () => {
    await expect(collect(await project({}), [], "1.2.4")).rejects.toThrow(
      "read for Bun 1.2.3, and this is Bun 1.2.4",
    );
  });

  test("a license id whose text is missing", async () => {
    const bun = {
      bun: "1.2.3",
      source: "s",
      libraries: [{ name: "l", url: "u", license: "Zlib", copyright: [] }],
    };
    const root = await project({ "docs/licenses/bun.json": bun });
    await expect(collect(root, [])).rejects.toThrow("texts/Zlib.txt is not there");
  });

  test("knowledge of a package that is not inside, or has a text, or another license by now", async () => {
    const known = { p: { license: "MIT", copyright: ["c"] } };
    const gone = await project({ "docs/licenses/packages.json": known });
    await expect(collect(gone, [])).rejects.toThrow("p, which is not in the bundle");
    const ships = await project({
      "docs/licenses/packages.json": known,
      "node_modules/p/package.json": manifest("p"),
      "node_modules/p/LICENSE": "x",
    });
    await expect(collect(ships, ["node_modules/p/i.js"])).rejects.toThrow("it ships a license text");
    const changed = await project({
      "docs/licenses/packages.json": { p: { license: "ISC", copyright: ["c"] } },
      "node_modules/p/package.json": manifest("p"),
    });
    await expect(collect(changed, ["node_modules/p/i.js"])).rejects.toThrow("it is under MIT, and");
  });
});
