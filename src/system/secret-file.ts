import { codeOf } from "../domain/error-code.ts";

/** What a file of one secret holds. `problem` follows the name of the setting, and tells neither path nor content. */
export type SecretRead = { readonly text: string } | { readonly problem: string };

/** Where systemd keeps what units are handed over (LoadCredential=), for as long as they run. */
const CREDENTIALS = "/run/credentials/";

/** Reads a secret at each use, so that a changed one holds at once; a line end behind it is not part of it. */
export async function readSecretFile(file: string): Promise<SecretRead> {
  let text: string;
  try {
    text = await Bun.file(file).text();
  } catch (error) {
    const code = codeOf(error);
    return {
      problem:
        code === "ENOENT" && file.startsWith(CREDENTIALS)
          ? "is a credential, which the unit hands over while the service runs: start or restart it first"
          : `cannot be read (${code})`,
    };
  }
  const secret = text.replace(/\r?\n$/, "");
  return secret === "" ? { problem: "is empty" } : { text: secret };
}
