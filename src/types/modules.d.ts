/** Text files inside the binary: migrations and the contents of `systemd/`. */
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

/** Paths of files imported with `{ type: "file" }`, on disk or inside the binary. */
declare module "swagger-ui-dist/*" {
  const path: string;
  export default path;
}

/** Declares the functions in use; the package has no declarations. */
declare module "snappyjs" {
  export function compress(bytes: Uint8Array): Uint8Array<ArrayBuffer>;
  export function uncompress(bytes: Uint8Array, maxLength?: number): Uint8Array<ArrayBuffer>;
}
declare module "recheck/lib/*" {
  const path: string;
  export default path;
}
