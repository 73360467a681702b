import { maskSecrets } from "../../domain/plain-text.ts";

/** Options whose value is a secret: `-z` is RLM's password. */
const SECRET_OPTION =
  /^(-z|--?(?:[a-z]+[-_])*(?:password|passwd|pass|pwd|secret|token|api[-_]?key))(=.*)?$/is;

/** An argv as it may be shown: what looks like a secret is `***`, wherever the config's template has one. */
export function maskArgv(argv: readonly string[]): readonly string[] {
  return argv.map((element, index) => {
    const [, option, value] = SECRET_OPTION.exec(element) ?? [];
    if (option !== undefined && value !== undefined) return `${option}=***`;
    const before = SECRET_OPTION.exec(argv[index - 1] ?? "");
    if (before !== null && before[2] === undefined && !element.startsWith("-")) return "***";
    return maskSecrets(element);
  });
}
