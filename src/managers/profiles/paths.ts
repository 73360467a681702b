/** Paths in a JSON value: in `a.b[].c`, `[]` means each element of a list; "" is the value itself. */

/**
 * Maximum depth of nested lists and objects. License lists are less deep, and a hostile answer could
 * exhaust the stack.
 */
export const MAX_DEPTH = 64;

const PATH = /^(?:[^.[\]]+(?:\[\])*|(?:\[\])+)(?:\.[^.[\]]+(?:\[\])*)*$/u;

export function isPath(path: string): boolean {
  return path === "" || PATH.test(path);
}

export function valuesAt(value: unknown, path: string): readonly unknown[] {
  let found: readonly unknown[] = [value];
  for (const step of path === "" ? [] : path.split(".")) {
    const [, key = "", each = ""] = /^([^[]*)((?:\[\])*)$/.exec(step) ?? [];
    if (key !== "")
      found = found.flatMap((one) => (isObject(one) && Object.hasOwn(one, key) ? [one[key]] : []));
    for (let lists = each.length / 2; lists > 0; lists--)
      found = found.flatMap((one) => (Array.isArray(one) ? one : []));
  }
  return found;
}

export function textsAt(value: unknown, paths: readonly string[]): readonly string[] {
  return paths
    .flatMap((path) => valuesAt(value, path))
    .filter((one) => ["string", "number", "boolean"].includes(typeof one))
    .map(String);
}

export function textAt(value: unknown, paths: readonly string[]): string | undefined {
  const texts = textsAt(value, paths);
  return texts.find((text) => text !== "") ?? texts[0];
}

/** Returns the list at the first path that leads to a list; null if no path does. */
export function listAt(value: unknown, paths: readonly string[]): readonly unknown[] | null {
  for (const path of paths) {
    const found = valuesAt(value, path);
    // The path may lead to a list (`a`), to several lists (`a[].b`), or to the elements of a list (`a[]`).
    const lists = found.filter((one): one is unknown[] => Array.isArray(one));
    if (lists.length > 0) return lists.flat();
    if (path.endsWith("[]") && listAt(value, [path.slice(0, -2)]) !== null) return found;
  }
  return null;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses JSON; returns a description of the problem if it is invalid. Never throws. */
export function parseJson(text: string): { readonly value: unknown } | { readonly problem: string } {
  if (depthOf(text) > MAX_DEPTH) return { problem: `is nested more than ${MAX_DEPTH} deep` };
  try {
    return { value: JSON.parse(text.replace(/^\uFEFF/, "")) };
  } catch {
    return { problem: "is not valid JSON" };
  }
}

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inText = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (inText) {
      if (code === 0x5c) at++;
      else if (code === 0x22) inText = false;
    } else if (code === 0x22) inText = true;
    else if (code === 0x7b || code === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (code === 0x7d || code === 0x5d) depth--;
  }
  return deepest;
}
