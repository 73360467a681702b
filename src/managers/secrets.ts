import type { HttpQuestion, Step } from "./manager.ts";

export type Placeholder = "secret" | "secret_base64" | "token";

const PLACEHOLDER = /\{(secret|secret_base64|token)\}/g;

/** Replacement for a secret in text that people see. */
export const MASK = "***";

/**
 * Replaces placeholders with secrets; placeholders inside a secret stay. If `values` is null, inserts {@link MASK}.
 */
export function fillSecrets(
  template: string,
  values: Readonly<Partial<Record<Placeholder, string>>> | null,
  within: (value: string) => string = (value) => value,
): string {
  return template.replaceAll(PLACEHOLDER, (whole, name: Placeholder) => {
    const value = values === null ? MASK : values[name];
    return value === undefined ? whole : within(value);
  });
}

export function needsSecret(step: Step): boolean {
  const isIn = (text: string) => /\{secret(_base64)?\}/.test(text);
  if ("argv" in step) return isIn(step.stdin ?? "");
  return [step.request, step.login].some(
    (question) => question !== undefined && textsOf(question).some(isIn),
  );
}

export function isSecret(question: HttpQuestion): boolean {
  return textsOf(question).some((text) => text.search(PLACEHOLDER) !== -1);
}

function textsOf({ query = {}, headers = {}, body = "" }: HttpQuestion): string[] {
  return [...Object.values(query), ...Object.values(headers), body];
}

/** Minimum length of a secret. A shorter one is easy to guess, and masking it would alter ordinary words. */
export const LEAST_SECRET = 4;

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
    return begun < LEAST_SECRET - 1 ? masked : `${masked.slice(0, -begun)}${MASK}`;
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
  const plain = password.length < LEAST_SECRET ? [secret] : [secret, password];
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
  return [...encoded, ...plain.flatMap(base64Of)].filter(({ length }) => length >= LEAST_SECRET);
}

function hexOf(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

/**
 * Returns the forms that a secret can have inside the base64 of a longer text, e.g. of `user:SECRET`. There
 * is one form for each offset within a group of three bytes.
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
