import { type AnyElysia, Elysia } from "elysia";
import style from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import script from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import { type Answer, send, valueAnswer } from "../answers/answer.ts";

/** Swagger UI sets inline styles and data: images; scripts come from here alone. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; font-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
const HTML = { "content-type": "text/html; charset=utf-8" };
const asset = (type: string) => ({
  "content-type": `${type}; charset=utf-8`,
  "cache-control": "public, max-age=3600",
});
const JAVASCRIPT = asset("text/javascript");
const CSS = asset("text/css");
/** Not in the document: it describes the API, not its own page. */
const PUBLIC = { detail: { hide: true, "x-permission": "open" } };

/** The OpenAPI document at `/swagger/json`, and Swagger UI at `/swagger` from files inside the binary. */
export function docsRoutes(described: AnyElysia, version: string) {
  let document: Promise<Answer> | null = null;
  const file = async (path: string, headers: Answer["headers"]) => ({
    body: await Bun.file(path).bytes(),
    headers,
  });
  return new Elysia({ name: "docs" })
    .get(
      "/swagger",
      () => new Response(PAGE, { headers: { ...HTML, "content-security-policy": PAGE_POLICY } }),
      PUBLIC,
    )
    .get(
      "/swagger/json",
      async ({ request }) => {
        // The code that makes it takes memory and most daemons never need it: the first request loads it.
        document ??= import("./document.ts")
          .then(({ openApiDocument }) => openApiDocument(described, version))
          .then(valueAnswer);
        return send(request, await document);
      },
      PUBLIC,
    )
    .get("/swagger/assets/init.js", () => new Response(INIT, { headers: JAVASCRIPT }), PUBLIC)
    .get(
      "/swagger/assets/ui.js",
      async ({ request }) => send(request, await file(script, JAVASCRIPT)),
      PUBLIC,
    )
    .get("/swagger/assets/ui.css", async ({ request }) => send(request, await file(style, CSS)), PUBLIC);
}

/** The Swagger UI page: no inline script, nothing from another host. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>licmond API</title>
<link rel="stylesheet" href="/swagger/assets/ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/swagger/assets/ui.js"></script>
<script src="/swagger/assets/init.js"></script>
</body>
</html>
`;

/** `validatorUrl: null`: the badge would ask validator.swagger.io. Keys typed in are not kept. */
const INIT = `// Swagger UI fills forms with examples; an optional parameter is better shown one than sent one.
const withoutFilling = (document) => {
  const made = JSON.parse(JSON.stringify(document));
  for (const item of Object.values(made.paths)) {
    for (const { parameters = [] } of Object.values(item)) {
      for (const parameter of parameters) {
        if (parameter.required || parameter.example === undefined) continue;
        parameter.description = parameter.description.replace(/\\.?$/, ".") + " Example: \`" + [parameter.example].flat().join(", ") + "\`.";
        delete parameter.example;
      }
    }
  }
  return made;
};

window.ui = SwaggerUIBundle({
  url: "/swagger/json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
  persistAuthorization: false,
  tryItOutEnabled: true,
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [
    () => ({
      statePlugins: {
        spec: { wrapActions: { updateJsonSpec: (update) => (document) => update(withoutFilling(document)) } },
      },
    }),
  ],
  layout: "BaseLayout",
});
`;
