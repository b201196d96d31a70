/** The part of ECMAScript 2026 that TypeScript does not describe yet. Node.js has it since version 21. */
interface JSON {
  /** Returns a value that JSON.stringify() writes as this text. @throws SyntaxError for text that is no primitive value. */
  rawJSON(text: string): { rawJSON: string };
}
