/**
 * argv prefix of a manager's utility, where `tool` runs its status query: an all-in-one program takes the utility's
 * name as its first word; beside the programs of `single`, which are utilities themselves, lies each of the others.
 */
export function utilityOf(
  tool: readonly string[],
  name: string,
  single: readonly string[],
): readonly string[] {
  const path = tool.at(-1) ?? "";
  const [, folder = "", program = "", extension = ""] = /^(.*[/\\])?([^/\\]*?)(\.exe)?$/i.exec(path) ?? [];
  if (program.toLowerCase() === name) return tool;
  if (!single.includes(program.toLowerCase())) return [...tool, name];
  return [...tool.slice(0, -1), `${folder}${name}${extension}`];
}
