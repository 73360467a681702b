/** What must be undone, noted as it is done: the end mirrors the start, also of a start that failed half way. */
export interface Teardown {
  add(what: string, undo: () => void | Promise<void>): void;
  /** Undoes everything, the last first. A step that fails is told and does not keep the others from their turn. */
  run(): Promise<void>;
}

export function createTeardown(onError: (what: string, error: unknown) => void): Teardown {
  const steps: { readonly what: string; readonly undo: () => void | Promise<void> }[] = [];
  return {
    add: (what, undo) => void steps.push({ what, undo }),
    async run() {
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
        try {
          await step.undo();
        } catch (error) {
          onError(step.what, error);
        }
      }
    },
  };
}
