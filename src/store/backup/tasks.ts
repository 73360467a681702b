import { copyDatabase } from "./copy.ts";
import { examineDatabase } from "./examine.ts";

/** Long work on database files, to be done off the main thread: `workers/backup.ts` runs it. */
export const TASKS = {
  copy: ({
    from,
    to,
    kind,
  }: {
    readonly from: string;
    readonly to: string;
    readonly kind: "live" | "file";
  }) => copyDatabase(from, to, kind),
  examine: ({ path }: { readonly path: string }) => examineDatabase(path),
};

export type Tasks = typeof TASKS;
export type TaskName = keyof Tasks;
