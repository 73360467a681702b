import { expect, test } from "bun:test";
import { manPage } from "../../../scripts/lib/release/man-page.ts";

const page = await manPage("1.2.3", 1_795_000_000);

test("has every command's help, dated by the release", () => {
  expect(page).toStartWith('.TH LICMOND 1 2026-11-18 "licmond 1.2.3"');
  for (const name of ["serve", "keys create", "install", "version"])
    expect(page).toContain(`\n.SS licmond ${name}\n`);
  expect(page).toContain("Usage: licmond keys create");
});

test("no line of a text is a request of roff", () => {
  const requests = [...page.matchAll(/^[.'](\S*)/gm)].map(([, name]) => name);
  expect(requests.filter((name) => !/^(?:TH|SH|SS|B|BR|I|TP|EX|EE)$/.test(name ?? ""))).toEqual([]);
});

test.skipIf(Bun.which("groff") === null)("groff has nothing against it", () => {
  const { stdout, stderr } = Bun.spawnSync(["groff", "-man", "-Tutf8", "-ww"], { stdin: Buffer.from(page) });
  expect(stderr.toString()).toBe("");
  expect(stdout.toString()).toContain("licmond keys create --name");
});
