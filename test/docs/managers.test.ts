import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FACTS, LINE_KINDS, ProfileTable } from "../../src/managers/profile.ts";
import { profileOf, summary } from "../managers/profiles/read.ts";
import { readAs } from "../managers/read-as.ts";
import { claimed, ROOT, titleOf } from "./claims.ts";
import { type Block, commandsOf } from "./markdown.ts";

/** This file follows docs/managers.md in its order and compares each shown output exactly. */
const FILE = "docs/managers.md";
const SECRET = "t0k-of-the-document";
const folder = mkdtempSync(join(tmpdir(), "licmond-docs-"));
const place = (name: string) => join(folder, name);
const put = (name: string, text: string, mode = 0o600) => writeFileSync(place(name), text, { mode });

/** Answers as the server in the document, only to its token. */
const http = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: ({ headers, url }) =>
    headers.get("authorization") === `Bearer ${SECRET}` && new URL(url).pathname === "/api/usage"
      ? new Response(Bun.file(place("usage.json")))
      : new Response("no", { status: 401 }),
});

beforeAll(() => {
  put("licmond", `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, "src/main.ts")}" "$@"\n`, 0o700);
  put("tokstat", `#!/bin/sh\n[ "$*" = "-h lic7.example -p 4500" ] && cat "${place("tokstat.txt")}"\n`, 0o700);
  put("paint.token", `${SECRET}\n`);
});
afterAll(async () => {
  await http.stop(true);
  rmSync(folder, { recursive: true });
});

/** Replaces the document's paths and addresses by the ones that this test uses. */
function adapted(config: string): string {
  return config
    .replaceAll("/opt/tok/tokstat", place("tokstat"))
    .replaceAll("/etc/licmond/paint.token", place("paint.token"))
    .replaceAll("https://{host}:{port}", `http://127.0.0.1:${http.port}`)
    .concat(`\n[storage]\ndirectory = "${folder}"\n`);
}

async function follow(block: Block): Promise<void> {
  const file = block.options.get("file");
  if (file !== undefined) return put(file, `${block.text}\n`);
  if (block.language === "toml") return put("licmond.toml", adapted(block.text));
  for (const { command, output } of commandsOf(block)) {
    const child = Bun.spawn(["sh", "-c", command], {
      cwd: folder,
      env: {
        PATH: `${folder}:/usr/bin:/bin`,
        TZ: "UTC",
        HOME: folder,
        LICMOND_CONFIG: place("licmond.toml"),
      },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    expect([command, code, err + out]).toEqual([command, Number(block.options.get("exit") ?? 0), err + out]);
    expect(linesOf(`${err}${out}`.replace(/\d+\.\d\d s$/m, "… s"))).toEqual(linesOf(output ?? ""));
    expect(`${err}${out}`).not.toContain(SECRET);
  }
}

const linesOf = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => line.trimEnd());

for (const block of claimed("managers", FILE)) test(titleOf(block), () => follow(block));

test("the records of the example script are read completely", async () => {
  const profile = profileOf('[[managers]]\nname = "own"\nargv = ["x"]\nformat = "licmond"\n');
  const reading = readAs(profile, await Bun.file(place("script.json")).text());
  expect(reading).toMatchObject({ cut: false, unparsedLines: 0, features: [{ unit: "tokens" }] });
  expect(summary(reading)).toEqual(["solver 20/3 (big) 2031-12-31 ada@ws14×3"]);
});

test("every key, kind of line and fact is documented", async () => {
  const document = await Bun.file(join(ROOT, FILE)).text();
  const named = new Set([...document.matchAll(/`"?([a-z_@]+)"?`/g)].map(([, word = ""]) => word));
  const there = [...Object.keys(ProfileTable.properties), ...FACTS, ...LINE_KINDS, "user@host"];
  expect(there.filter((word) => !named.has(word))).toEqual([]);
});
