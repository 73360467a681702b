/** True when the text names more than one thing: `*` stands for any characters, `?` for one. */
export function isPattern(text: string): boolean {
  return /[*?]/.test(text);
}
