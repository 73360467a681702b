import type { Reader } from "../../store/history/reader.ts";
import { storedSecret } from "../../store/secrets.ts";
import { createPseudonyms, type Pseudonyms } from "../anonymous/pseudonyms.ts";

/** The installation's pseudonyms where there is no more than a connection: the secret never crosses a thread. */
export function storedPseudonyms(): (read: Pick<Reader, "all">) => Pseudonyms {
  let made: { readonly secret: Uint8Array; readonly pseudonyms: Pseudonyms } | null = null;
  return (read) => {
    const secret = storedSecret(read, "pseudonyms");
    // The daemon makes it before it listens. Without it nothing may go out under a name.
    if (secret === null) throw new Error("The secret of the pseudonyms is not there");
    if (made === null || Buffer.compare(made.secret, secret) !== 0)
      made = { secret, pseudonyms: createPseudonyms(secret) };
    return made.pseudonyms;
  };
}
