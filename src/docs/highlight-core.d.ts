/* The part of highlight.js/lib/core that we use. Its own types bring those of browsers, which hide errors in code for Node.js. */

declare const hljs: {
  registerLanguage(name: string, language: unknown): void;
  highlight(code: string, options: { language: string }): { value: string };
};
export default hljs;
