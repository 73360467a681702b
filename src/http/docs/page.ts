/** The Swagger UI page: no inline script, nothing from another host. */
export const PAGE = `<!doctype html>
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
export const INIT = `// Swagger UI fills forms with examples; an optional parameter is better shown one than sent one.
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

/** Swagger UI sets inline styles and data: images; scripts come from here alone. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; font-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
