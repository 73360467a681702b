/** A license expression: one license, or several with what stands between them. */
export type SpdxExpression =
  | { readonly kind: "license"; readonly id: string }
  | { readonly kind: "and" | "or"; readonly parts: readonly SpdxExpression[] };

/**
 * Reads a license expression (SPDX specification, annex "SPDX license expressions"): ids, `+`, `WITH`, `AND`, `OR` and
 * parentheses; AND binds closer than OR. A license with an exception is one id, `GPL-2.0-only WITH x`.
 * Throws on everything else, such as `SEE LICENSE IN file` and `UNLICENSED AND`.
 */
export function parseSpdx(text: string): SpdxExpression {
  const tokens = text.match(/[()]|[^\s()]+/g) ?? [];
  let at = 0;
  const wrong = () => new Error(`"${text}" is no license expression`);

  const list = (kind: "and" | "or", word: string, next: () => SpdxExpression): SpdxExpression => {
    const parts = [next()];
    while (tokens[at] === word) {
      at += 1;
      parts.push(next());
    }
    const [only] = parts;
    return parts.length === 1 && only !== undefined ? only : { kind, parts };
  };
  const license = (): SpdxExpression => {
    if (tokens[at] === "(") {
      at += 1;
      const inner = expression();
      if (tokens[at] !== ")") throw wrong();
      at += 1;
      return inner;
    }
    let id = idAt();
    if (tokens[at] === "WITH") {
      at += 1;
      id += ` WITH ${idAt()}`;
    }
    return { kind: "license", id };
  };
  const idAt = (): string => {
    const token = tokens[at];
    if (token === undefined || !/^(?!(?:AND|OR|WITH)$)[A-Za-z0-9][\w.:-]*\+?$/.test(token)) throw wrong();
    at += 1;
    return token;
  };
  const expression = (): SpdxExpression => list("or", "OR", () => list("and", "AND", license));

  const read = expression();
  if (at !== tokens.length) throw wrong();
  return read;
}

/** Every id of an expression, once, in its order. */
export function idsOf(expression: SpdxExpression): string[] {
  if (expression.kind === "license") return [expression.id];
  return [...new Set(expression.parts.flatMap(idsOf))];
}

/** Whether wanted licenses alone allow the use: all of an AND, one of an OR. */
export function isAllowed(expression: SpdxExpression, wanted: ReadonlySet<string>): boolean {
  if (expression.kind === "license") return wanted.has(expression.id);
  const allowed = (part: SpdxExpression) => isAllowed(part, wanted);
  return expression.kind === "and" ? expression.parts.every(allowed) : expression.parts.some(allowed);
}
