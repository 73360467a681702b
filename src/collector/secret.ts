import { MASK } from "../managers/placeholders.ts";
import { readSecretFile, type SecretRead } from "../system/secret-file.ts";

/** A shorter secret would be masked in every word, and is easy to guess. */
const LEAST = 4;

/** Reads a server's secret. Called at each poll, so that changes take effect at once. */
export async function readServerSecret(file: string): Promise<SecretRead> {
  const read = await readSecretFile(file);
  if ("problem" in read) return read;
  // A line end would start another header, or another line of the tool's input.
  if (/\p{Cc}/u.test(read.text)) return { problem: "contains more than one line, or a control character" };
  return read.text.length < LEAST ? { problem: `has fewer than ${LEAST} characters` } : read;
}

/** `mayBeCut`: the text may end within a secret. */
export type MaskText = (text: string, mayBeCut: boolean) => string;

/** Creates a function that masks secrets in all encodings in which a tool or server may repeat them. */
export function createMask(secrets: readonly string[]): MaskText {
  const forms = [...new Set(secrets.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  const pattern = new RegExp(forms.map((form) => RegExp.escape(form)).join("|"), "g");
  return (text, mayBeCut) => {
    const masked = text.replaceAll(pattern, MASK);
    if (!mayBeCut) return masked;
    const begun = Math.max(...forms.map((form) => lengthOfBeginning(masked, form)));
    return begun < LEAST - 1 ? masked : `${masked.slice(0, -begun)}${MASK}`;
  };
}

/** Returns the length of the longest start of `form` that ends the text. */
function lengthOfBeginning(text: string, form: string): number {
  for (let length = Math.min(form.length - 1, text.length); length > 0; length--)
    if (text.endsWith(form.slice(0, length))) return length;
  return 0;
}

function formsOf(secret: string): string[] {
  // In `user:password`, the password alone is also a secret.
  const password = secret.slice(secret.indexOf(":") + 1);
  const plain = password.length < LEAST ? [secret] : [secret, password];
  const encoded = plain.flatMap((text) => {
    const percent = [
      encodeURI(text),
      encodeURIComponent(text),
      new URLSearchParams({ "": text }).toString().slice(1),
    ];
    const strict = encodeURIComponent(text).replaceAll(/[!'()*]/g, hexOf);
    const lower = [...percent, strict].map((one) =>
      one.replaceAll(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()),
    );
    return [text, ...percent, strict, ...lower, JSON.stringify(text).slice(1, -1), Bun.escapeHTML(text)];
  });
  return [...encoded, ...plain.flatMap(base64Of)].filter(({ length }) => length >= LEAST);
}

function hexOf(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

/**
 * Returns the forms of a secret inside the base64 of a longer text, e.g. `user:SECRET`: one for each offset
 * within a group of three bytes.
 */
function base64Of(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].flatMap((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replaceAll("=", "");
    const end = (before + bytes.length) % 3 === 0 ? whole.length : whole.length - 1;
    const core = whole.slice(before === 0 ? 0 : before + 1, end);
    return [core, core.replaceAll("+", "-").replaceAll("/", "_")];
  });
}
