/** Files of `systemd/`, imported with `{ type: "text" }`. */
declare module "*.service" {
  const text: string;
  export default text;
}

declare module "*.conf" {
  const text: string;
  export default text;
}
