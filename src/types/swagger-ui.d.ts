/** Files of swagger-ui-dist, imported with `{ type: "file" }`: their path on disk or inside the binary. */
declare module "swagger-ui-dist/swagger-ui-bundle.js" {
  const path: string;
  export default path;
}

declare module "swagger-ui-dist/swagger-ui.css" {
  const path: string;
  export default path;
}
