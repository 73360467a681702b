/** Tables that can be exported whole. */
export const EXPORT_TABLES = ["sessions", "samples", "denials", "logs"] as const;
export type ExportTable = (typeof EXPORT_TABLES)[number];
