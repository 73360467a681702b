import { expect, test } from "bun:test";
import { chmod, cp, mkdir, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { createFakeService } from "../fake-service.ts";
import { run, until } from "./harness.ts";
import { createSite } from "./site.ts";

const ROOT = join(import.meta.dir, "../..");
const FIXTURES = { dummy: "index.txt", web: "web.txt" };

/** Copies the sources and adds two managers: a folder for each, and a name in the registry. */
async function sourcesWithMore(folder: string): Promise<string> {
  const root = join(folder, "project");
  await mkdir(root);
  for (const part of ["src", "scripts/lib", "systemd", "packaging", "package.json"])
    await cp(join(ROOT, part), join(root, part), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(root, "node_modules"));
  const { compilerOptions } = await Bun.file(join(ROOT, "tsconfig.json")).json();
  const tsconfig = { compilerOptions, include: ["src"], exclude: ["src/page"] };
  await Bun.write(join(root, "tsconfig.json"), JSON.stringify(tsconfig));

  const registry = join(root, "src/managers/registry.ts");
  let text = await Bun.file(registry).text();
  for (const [name, fixture] of Object.entries(FIXTURES)) {
    const source = await Bun.file(join(ROOT, "test/fixtures/third-manager", fixture)).text();
    await Bun.write(join(root, `src/managers/${name}/index.ts`), source);
    expect(text).toContain("readonly Manager[] = [");
    text = text.replace("readonly Manager[] = [", `$&${name}, `);
    text = `import { ${name} } from "./${name}/index.ts";\n${text}`;
  }
  await Bun.write(registry, text);
  return root;
}

const SECRET = 'Öffne dich/"Sesam" & co';
const TOKEN = "token-of-the-login";
const FEATURES = [
  { name: "mesher", total: 5 },
  { name: `x ${SECRET} y`, total: 1 },
];

/** Encodings in which a secret could leak. */
const FORMS = [
  SECRET,
  TOKEN,
  encodeURIComponent(SECRET),
  new URLSearchParams({ "": SECRET }).toString().slice(1),
  JSON.stringify(SECRET).slice(1, -1),
  Buffer.from(SECRET).toString("base64"),
  Buffer.from(`user:${SECRET}`).toString("base64").slice(8, 32),
];

const hunt = (where: string, text: string) => {
  for (const form of FORMS)
    expect({ where, has: text.includes(form), form }).toEqual({ where, has: false, form });
};

test("managers need only their folder and an entry in the registry, and keep secrets", async () => {
  await using site = await createSite();
  const root = await sourcesWithMore(site.folder);
  const checked = await run(["check", "--project", root], { program: [process.execPath] });
  expect(checked).toMatchObject({ exitCode: 0 });
  const program = [process.execPath, join(root, "src/main.ts")];

  // Records the tool's arguments and environment; its answer repeats the secret.
  const seen = join(site.folder, "seen");
  const tool = join(site.folder, "dummystat");
  await Bun.write(
    tool,
    `#!/bin/sh\ntr '\\0' ' ' < /proc/$$/cmdline > '${seen}'\nenv >> '${seen}'\nread -r secret\n` +
      `[ -n "$secret" ] || exit 1\nprintf 'dummy 1.0\\nfeature solver 3\\nseat alice ws1\\nseat bob %s\\nodd %s\\n' "$secret" "$secret"\n`,
  );
  await chmod(tool, 0o755);
  await using service = createFakeService({
    "/login": ({ body }) =>
      (JSON.parse(body) as { password: string }).password === SECRET
        ? new Response(TOKEN)
        : new Response(`wrong: ${body}`, { status: 401 }),
    "/features": ({ headers }) =>
      headers.get("authorization") === `Bearer ${TOKEN}`
        ? Response.json({ features: FEATURES })
        : new Response("who?", { status: 403 }),
    "/users": ({ headers }) =>
      Response.json({ features: [{ name: "mesher", users: ["carol", `${headers.get("authorization")}`] }] }),
    "/broken/login": () => new Response(TOKEN),
    "/broken/features": ({ headers }) => new Response(`<p>${headers.get("authorization")} ${SECRET}</p>`),
  });
  const secretFile = join(site.folder, "secret");
  await Bun.write(secretFile, `${SECRET}\n`);
  await chmod(secretFile, 0o600);
  const server = (id: string, manager: string, address: string, more = "") =>
    `[[servers]]\nid = "${id}"\nmanager = "${manager}"\naddress = "${address}"\nsecret_file = "${secretFile}"\n${more}\n`;
  await site.configure(
    [
      '[execute]\nenabled = true\n[log]\nlevel = "debug"\n',
      server("third", "dummy", "lic1", `tool = "${tool}"`),
      server("fourth", "web", service.url),
      server("broken", "web", `${service.url}/broken`),
    ].join("\n"),
  );
  const made = await site.run(["keys", "create", "--name", "admin", "--role", "admin"], { program });
  const key = made.stdout.trim();
  const unit = await site.run(["check"], { program });
  expect(unit.stdout).toContain("fourth: poll: answers: 2 features, 2 checkouts");
  expect(unit.stdout).not.toContain("fourth: tool");
  hunt("check", unit.stdout + unit.stderr);
  const probed = await site.run(["probe", "fourth", "--raw"], { program });
  expect(probed.stdout).toContain(`==> users: GET ${service.url}/users (200)`);
  hunt("probe", probed.stdout + probed.stderr);

  await using daemon = await site.serve({ program });
  const ask = (path: string) => daemon.json<{ features: unknown }>(path, key);
  await until("all servers are polled", async () => {
    const text = await (await daemon.get("/api/licenses/servers", key)).text();
    return !text.includes('"lastPollAt":null') || undefined;
  });
  expect(await ask("/api/licenses/features?server=third")).toMatchObject({
    features: [{ server: "third", name: "solver", total: 3, used: 2 }],
  });
  expect(await ask("/api/licenses/users?server=third")).toMatchObject({
    users: [
      { user: "alice", host: "ws1" },
      { user: "bob", host: "***" },
    ],
  });
  expect(await ask("/api/licenses/users?server=fourth")).toMatchObject({
    users: [{ user: "Bearer ***" }, { user: "carol" }],
  });
  expect(await ask("/api/licenses/servers?manager=web,dummy&sort=id")).toMatchObject({
    servers: [
      { id: "broken", error: { code: "LICENSE_PARSE_ERROR" } },
      { id: "fourth", manager: "web", status: "up", state: "ok" },
      { id: "third", manager: "dummy", status: "up" },
    ],
  });
  expect(await ask("/api/licenses/servers/third/raw")).toMatchObject({
    argv: [tool, "lic1"],
    unparsed: [{ line: 1, text: "odd ***" }],
  });

  expect(await daemon.json<object>("/api/execute", key)).toMatchObject({ commands: [{ command: "status" }] });
  for (const [command, server] of [
    ["status", "fourth"],
    ["reread", "third"],
  ])
    expect(await (await daemon.post("/api/execute", key, { command, server })).json()).toMatchObject({
      code: "INVALID_FIELD",
    });

  for (const path of [
    ...["status", "logs?limit=1000", "picture", "health", "alerts", "network", "config"].map(
      (name) => `/api/${name}`,
    ),
    ...["servers", "features", "users"].map((name) => `/api/licenses/${name}`),
    ...["third", "fourth", "broken"].map((id) => `/api/licenses/servers/${id}/raw`),
    "/metrics",
  ])
    hunt(path, await (await daemon.get(path, key)).text());
  // The log contains the answer with the secret removed.
  expect(daemon.output()).toContain("<p>Bearer *** ***</p>");
  hunt("the log", daemon.output());
  hunt("the daemon's command line", await Bun.file(`/proc/${daemon.pid}/cmdline`).text());
  hunt("the tool's command line and environment", await Bun.file(seen).text());
  expect(await daemon.stop()).toBe(0);
  const storage = join(site.folder, "storage");
  for (const name of await readdir(storage, { recursive: true })) {
    const file = Bun.file(join(storage, name));
    if ((await file.stat()).isFile()) hunt(name, Buffer.from(await file.bytes()).toString("latin1"));
  }
  hunt("the log at the end", daemon.output());

  const parsed = await run(["parse", "--manager", "dummy"], {
    program,
    stdin: "dummy 1.0\nfeature solver 3\n",
  });
  expect(JSON.parse(parsed.stdout)).toMatchObject({ features: [{ name: "solver", total: 3, used: 0 }] });
});
