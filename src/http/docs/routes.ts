import { type AnyElysia, Elysia } from "elysia";
import style from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import script from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import { openApiDocument } from "./document.ts";
import { INIT, PAGE, PAGE_POLICY } from "./page.ts";

const HOUR = "public, max-age=3600";
/** Not in the document: it describes the API, not its own page. */
const PUBLIC = { detail: { hide: true, "x-permission": "open" } };

/** The OpenAPI document at `/swagger/json` and Swagger UI at `/swagger`, from files inside the binary. */
export function docsRoutes(described: AnyElysia, version: string) {
  let document: Promise<string> | null = null;

  return new Elysia({ name: "docs" })
    .get(
      "/swagger",
      () =>
        new Response(PAGE, {
          headers: { "content-type": "text/html; charset=utf-8", "content-security-policy": PAGE_POLICY },
        }),
      PUBLIC,
    )
    .get(
      "/swagger/json",
      async () => {
        document ??= openApiDocument(described, version).then((made) => JSON.stringify(made));
        return new Response(await document, {
          headers: { "content-type": "application/json; charset=utf-8" },
        });
      },
      PUBLIC,
    )
    .get("/swagger/assets/init.js", () => asset(INIT, "text/javascript; charset=utf-8"), PUBLIC)
    .get("/swagger/assets/ui.js", () => asset(Bun.file(script), "text/javascript; charset=utf-8"), PUBLIC)
    .get("/swagger/assets/ui.css", () => asset(Bun.file(style), "text/css; charset=utf-8"), PUBLIC);
}

function asset(body: string | Blob, type: string): Response {
  return new Response(body, { headers: { "content-type": type, "cache-control": HOUR } });
}
