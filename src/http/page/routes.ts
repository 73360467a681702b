import { Elysia } from "elysia";
import { PAGE_PATHS } from "../../domain/words.ts";
import { BY_ENCODING, takesEncoding } from "../answers/answer.ts";
import type { HttpDeps } from "../deps.ts";
import { noSuchPath } from "../errors.ts";
import { matches } from "../snapshot.ts";
import { type PageFile, pageFiles } from "./files.ts";

/**
 * Allows scripts, styles and data of this origin only, and the document's inline script by its hash. Only
 * addresses from the Trusted Types policy `licmond` may become scripts. `ancestors`: origins whose pages
 * may embed the page.
 */
const policyFor = (ancestors: readonly string[], script: string) =>
  `default-src 'none'; script-src 'self' 'sha256-${script}'; worker-src 'self'; style-src 'self'; img-src 'self'; ` +
  "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; " +
  "require-trusted-types-for 'script'; " +
  `trusted-types licmond; frame-ancestors ${ancestors.join(" ") || "'none'"}`;
/** Hidden, because the document describes the API alone. */
const PUBLIC = { detail: { hide: true, "x-permission": "open" } };
/** Name of the worker's script, the only script with a fixed name. */
const WORKER = "stream-worker.js";

interface Page {
  readonly files: ReadonlyMap<string, PageFile>;
  /** SHA-256 of the document's inline script. */
  readonly script: string;
}

let page: Promise<Page> | null = null;
const loaded = () => (page ??= load());

async function load(): Promise<Page> {
  const files = new Map((await pageFiles()).map((file) => [file.name, file]));
  const index = files.get("index.html");
  const [, inline = ""] = /<script>(.*?)<\/script>/s.exec(index ? await textOf(index) : "") ?? [];
  return { files, script: new Bun.CryptoHasher("sha256").update(inline).digest("base64") };
}

const textOf = async ({ forms }: PageFile) =>
  new TextDecoder().decode(Bun.gunzipSync(await forms.gzip.bytes()));

/** Returns the page for an unknown address, with links relative to the root. */
export async function notFoundPage(path: string, settings: HttpDeps["settings"]): Promise<Response> {
  const { files, script } = await loaded();
  const file = files.get("404.html");
  if (file === undefined) throw noSuchPath();
  const up = "../".repeat(path.split("/").length - 2) || "./";
  return new Response((await textOf(file)).replaceAll('"./', `"${up}`), {
    status: 404,
    headers: {
      "content-type": file.type,
      "cache-control": "no-cache",
      "content-security-policy": policyFor(settings().page.frameAncestors, script),
      vary: "Accept",
    },
  });
}

/** Serves the page: one document for each of its paths, and its scripts and styles. They need no key. */
export function pageRoutes(settings: HttpDeps["settings"], isHub = false) {
  const answer = async (request: Request, name: string) => {
    const { files, script } = await loaded();
    const file = files.get(name);
    if (file === undefined) throw noSuchPath();
    return respond(request, file, policyFor(settings().page.frameAncestors, script));
  };

  const routes = new Elysia({ name: "page" }).get(
    "/assets/:file",
    ({ request, params }) => answer(request, `assets/${params.file}`),
    PUBLIC,
  );
  const index = isHub ? "index-hub.html" : "index.html";
  for (const path of ["", ...PAGE_PATHS])
    routes.get(`/${path}`, ({ request }) => answer(request, index), PUBLIC);
  routes.get(`/${WORKER}`, ({ request }) => answer(request, WORKER), PUBLIC);
  return routes;
}

async function respond(
  { headers: sent }: Request,
  { name, type, etag, forms }: PageFile,
  policy: string,
): Promise<Response> {
  const accepted = sent.get("accept-encoding");
  const encoding = (["br", "gzip"] as const).find((each) => takesEncoding(accepted, each)) ?? "identity";
  const tag = `"${etag}-${encoding}"`;
  const isHashed = name.startsWith("assets/");
  const headers = {
    etag: tag,
    vary: BY_ENCODING,
    "cache-control": isHashed ? "public, max-age=31536000, immutable" : "no-cache",
    // A worker uses its own file's policy. A 304 needs it too, because its headers replace the cached ones and the
    // API's policy would block the files.
    "content-security-policy": policy,
  };
  if (matches(sent.get("if-none-match") ?? "", tag)) return new Response(null, { status: 304, headers });
  const body = encoding === "identity" ? Bun.gunzipSync(await forms.gzip.bytes()) : forms[encoding];
  return new Response(body, {
    headers: {
      ...headers,
      "content-type": type,
      ...(encoding !== "identity" && { "content-encoding": encoding }),
    },
  });
}
