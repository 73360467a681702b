import { readSecretFile } from "../../system/secret-file.ts";
import { DeliveryError } from "./note.ts";

/** {@link readSecretFile} for a delivery: throws a DeliveryError. */
export async function readSecret(file: string): Promise<string> {
  const read = await readSecretFile(file);
  if ("problem" in read) throw new DeliveryError(`The secret_file ${read.problem}`);
  return read.text;
}
