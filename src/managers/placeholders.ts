import type { HttpQuestion, Step } from "./manager.ts";

/** What the texts of a step leave open, because nothing but the poll itself may know it. */
export type Placeholder = "secret" | "secret_base64" | "token";

const PLACEHOLDER = /\{(secret|secret_base64|token)\}/g;

/** What stands in place of a secret where people see it. */
export const MASK = "***";

/** Fills in secrets; what they hold is not read again. Null fills in {@link MASK}, for people. */
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

/** Whether a step is asked with the server's secret. */
export function needsSecret(step: Step): boolean {
  const isIn = (text: string) => /\{secret(_base64)?\}/.test(text);
  if ("argv" in step) return isIn(step.stdin ?? "");
  return [step.request, step.login].some(
    (question) => question !== undefined && textsOf(question).some(isIn),
  );
}

/** Whether a question tells a secret or a token. */
export function isSecret(question: HttpQuestion): boolean {
  return textsOf(question).some((text) => text.search(PLACEHOLDER) !== -1);
}

function textsOf({ query = {}, headers = {}, body = "" }: HttpQuestion): string[] {
  return [...Object.values(query), ...Object.values(headers), body];
}
