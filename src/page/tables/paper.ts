import { signal } from "@preact/signals";

/** The page is being printed: lists show every row, not only those that fit the window. */
export const isOnPaper = signal(false);
for (const when of ["beforeprint", "afterprint"])
  addEventListener(when, () => {
    isOnPaper.value = when === "beforeprint";
  });
