/**
 * Elysia asks for NODE_ENV when it is loaded and answers errors more talkatively in development, so this module is
 * imported before it. What the environment says stands.
 */
process.env.NODE_ENV ??= "production";
