/** A name in which `*` stands for any characters, and `?` for one. */
export function globPattern(glob: string): RegExp {
  const source = glob
    .split(/([*?])/)
    .map((part) => (part === "*" ? ".*" : part === "?" ? "." : RegExp.escape(part)))
    .join("");
  return new RegExp(`^${source}$`, "su");
}
