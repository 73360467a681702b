/** What this browser keeps, as text. Where its storage is off nothing is kept, and a choice holds until the page is left. */
export function kept(name: string): string | null {
  try {
    return localStorage.getItem(`licmond-${name}`);
  } catch {
    return null;
  }
}

/** Null forgets it. */
export function keep(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`licmond-${name}`);
    else localStorage.setItem(`licmond-${name}`, value);
  } catch {
    // Storage is off.
  }
}
