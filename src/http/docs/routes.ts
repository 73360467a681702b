import { type AnyElysia, Elysia } from "elysia";
import style from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import script from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import { type Answer, send, valueAnswer } from "../answers/answer.ts";

/**
 * Content security policy of the page. Swagger UI sets inline styles and `data:` images; scripts come from
 * this origin only.
 */
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
/** Hidden, because the document describes the API alone. */
const PUBLIC = { detail: { hide: true, "x-permission": "open" } };

/** Serves the OpenAPI document at `/swagger/json`, and Swagger UI at `/swagger` from files inside the binary. */
export function docsRoutes(described: AnyElysia, version: string) {
  let document: Promise<Answer> | null = null;
  const file = async (path: string, headers: Answer["headers"]) => ({
    body: await Bun.file(path).bytes(),
    headers,
  });
  return new Elysia({ name: "docs" })
    .get(
      "/swagger",
      ({ request }) => {
        const page = pageBelow(/\/(?:\?|$)/.test(request.url) ? "." : "./swagger");
        return new Response(page, { headers: { ...HTML, "content-security-policy": PAGE_POLICY } });
      },
      PUBLIC,
    )
    .get(
      "/swagger/json",
      async ({ request }) => {
        // Loaded by the first request: the code takes memory and most daemons never need it.
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

/**
 * The Swagger UI page without inline scripts and other hosts. Links are relative to `folder`, so they work below any
 * proxy prefix, with or without a trailing slash.
 */
const pageBelow = (folder: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>licmond API</title>
<link rel="stylesheet" href="${folder}/assets/ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="${folder}/assets/ui.js"></script>
<script src="${folder}/assets/init.js"></script>
</body>
</html>
`;

/** `validatorUrl: null` removes a badge that would ask validator.swagger.io. */
const INIT = `const address = new URL("../json", document.currentScript.src);
const base = new URL("..", address).href;

// Folds what all operations share, and adds the roles of each. Hides examples of optional parameters, because
// Swagger UI would send them. Uses the page's own address as server, for proxies with a prefix.
const forReading = (document) => {
  const made = JSON.parse(JSON.stringify(document));
  made.servers = [{ url: base.slice(0, -1), description: "This daemon" }];
  const [first, ...more] = made.info.description.split("\\n\\n");
  const fold = "<details><summary>Keys, values, errors: rules for all operations</summary>";
  made.info.description = [first, fold, ...more, "</details>"].join("\\n\\n");
  for (const item of Object.values(made.paths)) {
    for (const operation of Object.values(item)) {
      const { parameters = [], "x-roles": roles } = operation;
      operation.summary += " (" + (roles === undefined ? "no key" : roles.join(", ")) + ")";
      for (const parameter of parameters) {
        if (parameter.required || parameter.example === undefined) continue;
        parameter.description = parameter.description.replace(/\\.?$/, ".") + " Example: \`" + [parameter.example].flat().join(", ") + "\`.";
        delete parameter.example;
      }
    }
  }
  return made;
};

const KEPT = "licmond-keys " + base;
const kept = () => JSON.parse(sessionStorage.getItem(KEPT) ?? "{}");
const keep = (keys) => sessionStorage.setItem(KEPT, JSON.stringify(keys));

window.ui = SwaggerUIBundle({
  url: address.href,
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
  // If true, the page would keep the key in localStorage.
  persistAuthorization: false,
  onComplete: () => window.ui.authActions.authorize(kept()),
  tryItOutEnabled: true,
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [
    () => ({
      statePlugins: {
        spec: { wrapActions: { updateJsonSpec: (update) => (document) => update(forReading(document)) } },
        auth: {
          wrapActions: {
            authorize: (go) => (keys) => {
              keep({ ...kept(), ...keys });
              return go(keys);
            },
            logout: (go) => (names) => {
              const left = kept();
              for (const name of names) delete left[name];
              keep(left);
              return go(names);
            },
          },
        },
      },
    }),
  ],
  layout: "BaseLayout",
});
`;
