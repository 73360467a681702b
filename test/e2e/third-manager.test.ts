import { expect, test } from "bun:test";
import { cp, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { run, until } from "./harness.ts";
import { createSite } from "./site.ts";

const ROOT = join(import.meta.dir, "../..");

/** The sources with a third manager: its folder, and its name in the registry. */
async function sourcesWithDummy(folder: string): Promise<string> {
  const root = join(folder, "project");
  await mkdir(root);
  for (const part of ["src", "scripts/lib", "systemd", "package.json"])
    await cp(join(ROOT, part), join(root, part), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(root, "node_modules"));
  const { compilerOptions } = await Bun.file(join(ROOT, "tsconfig.json")).json();
  const tsconfig = { compilerOptions, include: ["src"], exclude: ["src/page"] };
  await Bun.write(join(root, "tsconfig.json"), JSON.stringify(tsconfig));

  const dummy = await Bun.file(join(ROOT, "test/fixtures/third-manager/index.txt")).text();
  await Bun.write(join(root, "src/managers/dummy/index.ts"), dummy);
  const registry = join(root, "src/managers/registry.ts");
  const text = await Bun.file(registry).text();
  expect(text).toContain("[flexnet, rlm]");
  await Bun.write(
    registry,
    `import { dummy } from "./dummy/index.ts";\n${text.replace("[flexnet, rlm]", "[flexnet, rlm, dummy]")}`,
  );
  return root;
}

test("a third manager compiles and runs with its folder and its entry in the registry", async () => {
  await using site = await createSite();
  const root = await sourcesWithDummy(site.folder);
  const checked = await run(["check", "--project", root], { program: [process.execPath] });
  expect(checked).toMatchObject({ exitCode: 0 });

  const program = [process.execPath, join(root, "src/main.ts")];
  const tool = await site.tool("dummystat");
  await tool.says("dummy 1.0\nfeature solver 3\nseat alice ws1\nseat bob ws2\n");
  await site.configure(
    `[[servers]]\nid = "third"\nmanager = "dummy"\naddress = "lic1"\ntool = "${tool.path}"\n`,
  );
  const made = await site.run(["keys", "create", "--name", "viewer", "--role", "viewer"], { program });
  const key = made.stdout.trim();

  await using daemon = await site.serve({ program });
  const ask = (path: string) => daemon.json<{ features: unknown }>(`/api/licenses/${path}`, key);
  await until("the server is polled", async () => (await ask("summary")).features === 1 || undefined);
  expect(await ask("features")).toMatchObject({
    features: [{ server: "third", name: "solver", total: 3, used: 2 }],
  });
  expect(await ask("users")).toMatchObject({ users: [{ user: "alice", host: "ws1" }, { user: "bob" }] });
  expect(await ask("servers?manager=dummy")).toMatchObject({
    servers: [{ id: "third", manager: "dummy", status: "up" }],
  });
  expect(await daemon.stop()).toBe(0);

  const parsed = await run(["parse", "--manager", "dummy"], {
    program,
    stdin: "dummy 1.0\nfeature solver 3\n",
  });
  expect(JSON.parse(parsed.stdout)).toMatchObject({ features: [{ name: "solver", total: 3, used: 0 }] });
}, 120_000);
