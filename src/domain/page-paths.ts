/** The page's paths behind `/`: one segment each, so that relative links hold below any prefix of a proxy. */
export const PAGE_PATHS = ["features", "feature", "people", "signin"] as const;
export type PagePath = (typeof PAGE_PATHS)[number];
