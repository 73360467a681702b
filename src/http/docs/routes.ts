import { type AnyElysia, Elysia } from "elysia";
import style from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import script from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import { type Answer, encode, jsonAnswer, responseOf, send, takesGzip, zipped } from "../answers/answer.ts";
import { INIT, PAGE, PAGE_POLICY } from "./page.ts";

const PAGE_HEADERS = { "content-type": "text/html; charset=utf-8", "content-security-policy": PAGE_POLICY };
const asset = (type: string) => ({
  "content-type": `${type}; charset=utf-8`,
  "cache-control": "public, max-age=3600",
});
const JAVASCRIPT = asset("text/javascript");
/** Not in the document: it describes the API, not its own page. */
const PUBLIC = { detail: { hide: true, "x-permission": "open" } };

/** The OpenAPI document at `/swagger/json` and Swagger UI at `/swagger`, from files inside the binary. */
export function docsRoutes(described: AnyElysia, version: string) {
  let document: Promise<Answer> | null = null;
  const ui = embedded(script, JAVASCRIPT);
  const css = embedded(style, asset("text/css"));

  return new Elysia({ name: "docs" })
    .get("/swagger", () => new Response(PAGE, { headers: PAGE_HEADERS }), PUBLIC)
    .get(
      "/swagger/json",
      async ({ request }) => {
        document ??= documentOf(described, version);
        return send(request, await document);
      },
      PUBLIC,
    )
    .get("/swagger/assets/init.js", () => new Response(INIT, { headers: JAVASCRIPT }), PUBLIC)
    .get("/swagger/assets/ui.js", ({ request }) => ui(request), PUBLIC)
    .get("/swagger/assets/ui.css", ({ request }) => css(request), PUBLIC);
}

/** The code that makes the document takes memory and most daemons never need it: the first request loads it. */
async function documentOf(described: AnyElysia, version: string): Promise<Answer> {
  const { openApiDocument } = await import("./document.ts");
  return jsonAnswer(encode(JSON.stringify(await openApiDocument(described, version))));
}

/** A file inside the binary. Gzipped it is kept, because it stays the same: a third of its size, once asked for. */
function embedded(file: string, headers: Answer["headers"]) {
  let zip: Promise<Answer> | null = null;
  return (request: Request): Response | Promise<Response> => {
    if (!takesGzip(request.headers.get("accept-encoding"))) return new Response(Bun.file(file), { headers });
    zip ??= Bun.file(file)
      .bytes()
      .then((body) => zipped({ body, headers }));
    return zip.then(responseOf);
  };
}
