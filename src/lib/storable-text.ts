/** An escape of JSON: a pair of surrogates, half of one, U+0000, or any other. */
const ESCAPE =
  /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u0000|u[dD][89a-fA-F][0-9a-fA-F]{2})|[^])/g;
const REFUSED_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;
const JSON_TEXT = /^[[{"]/;

/**
 * Returns a text with U+FFFD in place of U+0000 and of halves of surrogate pairs, which PostgreSQL refuses and SQLite
 * takes. In JSON it replaces their escapes.
 */
export function storableText(text: string): string {
  const plain = text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text;
  const whole = plain.isWellFormed() ? plain : plain.toWellFormed();
  if (!whole.includes('\\u') || !JSON_TEXT.test(whole) || !REFUSED_ESCAPE.test(whole)) return whole;
  return whole.replaceAll(ESCAPE, (escape, refused?: string) => (refused === undefined ? escape : '\ufffd'));
}

/** Returns the values of a statement with storableText() for each text, also in lists. */
export function storableValues(values: readonly unknown[]): readonly unknown[] {
  return values.every((value) => storable(value) === value) ? values : values.map(storable);
}

function storable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  if (!Array.isArray(value)) return value;
  const items = storableValues(value);
  return items === value ? value : [...items];
}
