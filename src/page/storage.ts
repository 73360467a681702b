/** Reads a text from this browser's storage. If storage is blocked, a choice lasts until the page is left. */
export function kept(name: string): string | null {
  try {
    return localStorage.getItem(`licmond-${name}`);
  } catch {
    return null;
  }
}

export function keep(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`licmond-${name}`);
    else localStorage.setItem(`licmond-${name}`, value);
  } catch {}
}
