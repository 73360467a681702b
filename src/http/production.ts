/**
 * Elysia reads NODE_ENV when it is loaded and shows more error details in development, so import this module first.
 */
process.env.NODE_ENV ??= "production";
