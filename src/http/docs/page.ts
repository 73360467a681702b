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
export const INIT = `window.ui = SwaggerUIBundle({
  url: "/swagger/json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
  persistAuthorization: false,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
});
`;

/** Swagger UI sets inline styles and data: images; scripts come from here alone. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; font-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
