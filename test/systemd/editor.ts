import type { Machine } from "./machine.ts";

/** Types a block into a file, through the program that an administrator opens it with. */
export async function typeInto(machine: Machine, target: string, text: string): Promise<void> {
  const isUnit = target.endsWith(".service");
  const file = isUnit ? `/etc/systemd/system/${target}.d/override.conf` : target;
  const before = await machine.read(file).catch(() => "");
  const after = withBlock(before, text);
  await machine.write("/root/typed", after);
  // Both split the editor's line into words, and add the file's name. systemctl edits on a terminal only.
  await machine.sh(
    isUnit
      ? `SYSTEMD_EDITOR='cp /root/typed' script -qec 'systemctl edit ${target}' /dev/null`
      : `SUDO_EDITOR='cp /root/typed' sudoedit ${file}`,
  );
  const written = await machine.read(file);
  if (!written.includes(text.trimEnd().split("\n").at(-1) ?? ""))
    throw new Error(`${file} has become:\n${written}`);
}

/** The lines under a header that is there already go below it; the rest comes to the end. */
export function withBlock(before: string, block: string): string {
  const lines = before === "" ? [] : before.trimEnd().split("\n");
  for (const part of block.split(/\n(?=\[)/)) {
    const [header = "", ...body] = part.trimEnd().split("\n");
    const at = header.startsWith("[[") ? -1 : lines.indexOf(header);
    if (at === -1) lines.push(...(lines.length === 0 ? [] : [""]), header, ...body);
    else lines.splice(at + 1, 0, ...body);
  }
  return `${lines.join("\n")}\n`;
}
