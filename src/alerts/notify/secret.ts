import { DeliveryError } from "./note.ts";

/**
 * The content of a secret file, read at each use so that a changed one holds at once; a line end behind it is not part
 * of it. Throws a DeliveryError that says neither the content nor where it lies.
 */
export async function readSecret(file: string): Promise<string> {
  let text: string;
  try {
    text = await Bun.file(file).text();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw new DeliveryError(`The secret_file cannot be read (${code})`);
  }
  const secret = text.replace(/\r?\n$/, "");
  if (secret === "") throw new DeliveryError("The secret_file is empty");
  return secret;
}
