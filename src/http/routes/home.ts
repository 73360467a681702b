import { Elysia } from "elysia";

const PUBLIC = { detail: { hide: true, "x-permission": "open" } };

/** What stands at `/`: which version this is, and the way to the docs. */
export function homeRoutes(version: string) {
  const page = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>licmond</title></head>
<body>
<h1>licmond ${Bun.escapeHTML(version)}</h1>
<p>The license monitoring daemon is running. <a href="/swagger">The API and its documentation</a></p>
</body>
</html>
`;
  return new Elysia({ name: "routes/home" }).get(
    "/",
    () => new Response(page, { headers: { "content-type": "text/html; charset=utf-8" } }),
    PUBLIC,
  );
}
