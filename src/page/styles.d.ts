/** A style sheet as its text, for what brings its own. */
declare module "*.css" {
  const text: string;
  export default text;
}
