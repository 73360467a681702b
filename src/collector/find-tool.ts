import { inspectTool } from "./inspect-tool.ts";

/** The file to try for one of several names; where none can start, one whose failure explains why. `path` is a $PATH. */
export function findTool(names: readonly string[], path: string): string {
  const finding = inspectTool({ names }, path);
  return (finding.ok ? finding.path : finding.failure.path) ?? names[0] ?? "";
}
