import { useEffect, useState } from "preact/hooks";

const SETTLES_MS = 250;

/** Returns a text once its typing pauses. */
export function useSettled(text: string): string {
  const [settled, settle] = useState(text);
  useEffect(() => {
    const timer = setTimeout(settle, SETTLES_MS, text);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
