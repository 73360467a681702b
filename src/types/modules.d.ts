/** Migrations, and what lies in `systemd/`: text inside the binary. */
declare module "*.sql" {
  const text: string;
  export default text;
}
declare module "*.service" {
  const text: string;
  export default text;
}
declare module "*.conf" {
  const text: string;
  export default text;
}

/** Imported with `{ type: "file" }`: their path on disk or inside the binary. */
declare module "swagger-ui-dist/*" {
  const path: string;
  export default path;
}

/** Only what is used of it. The package has no declarations of its own. */
declare module "snappyjs" {
  export function compress(bytes: Uint8Array): Uint8Array<ArrayBuffer>;
  export function uncompress(bytes: Uint8Array, maxLength?: number): Uint8Array<ArrayBuffer>;
}
declare module "recheck/lib/*" {
  const path: string;
  export default path;
}
