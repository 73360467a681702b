/** Migrations are text inside the binary. */
declare module "*.sql" {
  const text: string;
  export default text;
}
