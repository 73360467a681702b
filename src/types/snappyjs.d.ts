/** Only what is used of it. The package has no declarations of its own. */
declare module "snappyjs" {
  export function compress(bytes: Uint8Array): Uint8Array<ArrayBuffer>;
  export function uncompress(bytes: Uint8Array, maxLength?: number): Uint8Array<ArrayBuffer>;
}
