/**
 * Elysia reads NODE_ENV when it is loaded and answers errors with more detail in development, so this
 * module is imported first. An existing value is kept.
 */
process.env.NODE_ENV ??= "production";
