import { expect, test } from "bun:test";
import { manPage } from "../../src/cli/command.ts";
import { createProgram } from "../../src/cli/program.ts";

const page = await manPage(createProgram, "1.2.3", "2026-11-18");

test("has the help of every command, and the date of the release", () => {
  expect(page).toStartWith('.TH LICMOND 1 "2026-11-18" "licmond 1.2.3"');
  for (const name of ["serve", "keys create", "install", "version"])
    expect(page).toContain(`\n.SS licmond ${name}\n`);
  expect(page).toContain("Usage: licmond keys create");
});

test("no line of help text is a roff request", () => {
  const requests = [...page.matchAll(/^[.'](\S*)/gm)].map(([, name]) => name);
  expect(page).not.toMatch(/[^\P{Cc}\n]/u);
  expect(requests.filter((name) => !/^(?:TH|SH|SS|B|BR|I|TP|EX|EE)$/.test(name ?? ""))).toEqual([]);
});

test.skipIf(Bun.which("groff") === null)("groff prints no warnings", () => {
  const { stdout, stderr } = Bun.spawnSync(["groff", "-man", "-Tutf8", "-ww"], { stdin: Buffer.from(page) });
  expect(stderr.toString()).toBe("");
  expect(stdout.toString()).toContain("licmond keys create --name");
});
