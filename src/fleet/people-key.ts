import { readSecretFile } from "../system/secret-file.ts";

/** At least 32 bytes in base64 or hex; an HMAC with a shorter key could be brute-forced. */
const KEY = /^[A-Za-z0-9+/_-]{43,1024}={0,2}$/;

export const MAKE_KEY = "openssl rand -base64 32";

/** Throws an Error without the path or content of the file. */
export async function readPeopleKey(file: string): Promise<Uint8Array> {
  const read = await readSecretFile(file);
  if ("problem" in read) throw new Error(`The people_key_file ${read.problem}`);
  if (!KEY.test(read.text))
    throw new Error(`The people_key_file must hold 32 random bytes or more in base64 or hex: ${MAKE_KEY}`);
  return Buffer.from(read.text);
}
