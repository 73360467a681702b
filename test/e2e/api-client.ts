import { mock } from "bun:test";
import { existsSync } from "node:fs";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { type ApiDocument, dereferenced } from "../http/document.ts";

const MODULES = join(import.meta.dir, "../../node_modules");
const CACHE = join(import.meta.dir, "../../.cache");
const GENERATOR = "datamodel-code-generator==0.89.0";

export interface ApiList {
  readonly path: string;
  readonly rows: string;
  readonly query: Readonly<Record<string, unknown>>;
}

/** Returns every GET of the document that answers a list of records with a total. */
export function listsOf(document: ApiDocument): ApiList[] {
  return Object.entries(dereferenced(document).paths).flatMap(([path, { get }]) => {
    const { properties = {} } = get?.responses[200]?.content?.["application/json"]?.schema ?? {};
    const rows = Object.keys(properties).find((name) => properties[name]?.items?.properties !== undefined);
    if (get?.responses[200]?.content?.["text/csv"] === undefined || rows === undefined) return [];
    const feature = get.parameters?.find(({ name }) => name === "feature")?.example;
    return [{ path, rows, query: path.endsWith("/heatmap") ? { feature } : {} }];
  });
}

/**
 * Writes a program that reads every list through openapi-fetch, with types of openapi-typescript. It prints the number of
 * rows of each list.
 */
export async function writeTypeScriptClient(folder: string, document: ApiDocument): Promise<string> {
  // openapi-typescript 7 needs the compiler API, which TypeScript 7 does not have.
  await mock.module("typescript", async () => ({ default: await import("typescript5") }));
  const { default: openapiTS, astToString } = await import("openapi-typescript");
  await Bun.write(join(folder, "api.ts"), astToString(await openapiTS(JSON.stringify(document))));
  await symlink(MODULES, join(folder, "node_modules"));
  const reads = listsOf(document).map(({ path, rows, query }) => {
    const asked = JSON.stringify({ params: { query } });
    return `{
  const { data, error } = await client.GET("${path}", ${asked});
  if (data === undefined) throw new Error(${JSON.stringify(path)} + ": " + error.code + " " + error.message);
  // @ts-expect-error: the type is that of the list, not any.
  data.nothing;
  seen["${path}"] = data.${rows}.map((row) => Object.keys(row).length).length;
}`;
  });
  const program = join(folder, "client.ts");
  await Bun.write(
    program,
    `import createClient from "openapi-fetch";
import type { components, paths } from "./api.ts";

const [, , baseUrl, key = ""] = process.argv;
const client = createClient<paths>({ baseUrl, headers: { "X-API-Key": key } });
const seen: Record<string, number> = {};
${reads.join("\n")}
const { data } = await client.GET("/api/licenses/users");
const user: components["schemas"]["User"] | undefined = data?.users[0];
const holder: string | null | undefined = user?.user;
const kind: "checkout" | "reservation" | "queued" | "assigned" | undefined = user?.kind;
if (holder === undefined || kind === undefined) throw new Error("no users");
console.log(JSON.stringify(seen));
`,
  );
  const modules = { module: "preserve", moduleResolution: "bundler", allowImportingTsExtensions: true };
  const compilerOptions = { strict: true, noEmit: true, target: "esnext", types: ["bun"], ...modules };
  await Bun.write(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["client.ts"] }));
  return program;
}

/** Returns the generator of Python models, installed into .cache/ at the first call; null if it cannot be installed. */
export async function modelGenerator(): Promise<{ python: string; generator: string } | null> {
  const venv = join(CACHE, GENERATOR.replace("==", "-"));
  const [python, generator] = [join(venv, "bin/python3"), join(venv, "bin/datamodel-codegen")];
  // pip writes this file last, after its dependencies.
  if (existsSync(generator)) return { python, generator };
  if (Bun.which("python3") === null) return null;
  const made = await finished(["python3", "-m", "venv", "--clear", venv]);
  if (made.exitCode !== 0) return null;
  const got = await finished([join(venv, "bin/pip"), "install", "-q", GENERATOR]);
  return got.exitCode === 0 ? { python, generator } : null;
}

export async function writePythonClient(folder: string, document: ApiDocument, generator: string) {
  const source = join(folder, "openapi.json");
  await Bun.write(source, JSON.stringify(document));
  const { exitCode, output } = await finished([
    generator,
    ...["--input", source, "--input-file-type", "openapi", "--output", join(folder, "models.py")],
    ...["--output-model-type", "pydantic_v2.BaseModel", "--strict-nullable", "--use-annotated"],
    ...["--extra-fields", "forbid"],
  ]);
  if (exitCode !== 0) throw new Error(`datamodel-codegen:\n${output}`);
  const lists = listsOf(document).map(({ path, rows, query }) => {
    const schema = document.paths[path]?.get?.responses[200]?.content?.["application/json"]?.schema;
    const parameters = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    );
    return [path, String(parameters), String(schema?.$ref).split("/").at(-1), rows];
  });
  const program = join(folder, "client.py");
  await Bun.write(
    program,
    `import json, sys, urllib.request
import models
base, key = sys.argv[1:]
seen = {}
for path, query, name, rows in json.loads(${JSON.stringify(JSON.stringify(lists))}):
    request = urllib.request.Request(f"{base}{path}?{query}", headers={"X-API-Key": key})
    with urllib.request.urlopen(request) as answer:
        seen[path] = len(getattr(getattr(models, name).model_validate_json(answer.read()), rows))
print(json.dumps(seen))
`,
  );
  return program;
}

const GO_GENERATOR = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2";

/** Installs the generator of Go clients into .cache/ the first time. Returns null where Go is missing or fetches nothing. */
export async function goGenerator(): Promise<string | null> {
  const bin = join(CACHE, GO_GENERATOR.replace(/.*@/, "oapi-codegen-"));
  const generator = join(bin, "oapi-codegen");
  if (existsSync(generator)) return generator;
  if (Bun.which("go") === null) return null;
  const { exitCode } = await finished(["env", `GOBIN=${bin}`, "go", "install", GO_GENERATOR]);
  return exitCode === 0 ? generator : null;
}

/** Generates a Go client of the document in the folder and compiles it. Rejects with the compiler's output. */
export async function compileGoClient(folder: string, document: ApiDocument, generator: string) {
  await Bun.write(join(folder, "openapi.json"), JSON.stringify(document));
  await Bun.write(join(folder, "go.mod"), "module client\n\ngo 1.22\n");
  for (const argv of [
    [generator, "-generate", "types,client", "-package", "client", "-o", "client.go", "openapi.json"],
    ["go", "mod", "tidy"],
    ["go", "vet", "."],
  ]) {
    const { exitCode, output } = await finished(argv, folder);
    if (exitCode !== 0) throw new Error(`${argv.join(" ")}:\n${output}`);
  }
}

export async function finished(argv: readonly string[], cwd = "/") {
  const child = Bun.spawn([...argv], { cwd, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { exitCode, output: stdout + stderr };
}
