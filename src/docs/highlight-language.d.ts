/* A language of highlight.js: see highlight-core.d.ts. */

declare const language: unknown;
export default language;
