import { codeOf } from "../domain/error-code.ts";

/** What a file of one secret holds. `problem` follows the name of the setting, and tells neither path nor content. */
export type SecretRead = { readonly text: string } | { readonly problem: string };

/** Reads a secret at each use, so that a changed one holds at once; a line end behind it is not part of it. */
export async function readSecretFile(file: string): Promise<SecretRead> {
  let text: string;
  try {
    text = await Bun.file(file).text();
  } catch (error) {
    return { problem: `cannot be read (${codeOf(error)})` };
  }
  const secret = text.replace(/\r?\n$/, "");
  return secret === "" ? { problem: "is empty" } : { text: secret };
}
