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
