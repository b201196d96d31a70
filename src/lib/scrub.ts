/** Shorter values would blot out ordinary text. */
const LEAST_CHARS = 4;

/**
 * `text` without any of the secrets, in any form in which they travel: as they are, base64, base64url, hex,
 * URL-encoded, and as JSON writes them.
 */
export function scrub(text: string, secrets: readonly string[]): string {
  let clean = text;
  // Longest first: a secret within another would leave the rest of it standing.
  for (const secret of secrets.toSorted((a, b) => b.length - a.length)) {
    if (secret.length < LEAST_CHARS) continue;
    for (const form of formsOf(secret)) clean = clean.replaceAll(form, '[secret]');
  }
  return clean;
}

function formsOf(secret: string): Set<string> {
  const bytes = Buffer.from(secret, 'utf8');
  const encoded = encodeURIComponent(secret.toWellFormed());
  const base64 = bytes.toString('base64');
  const forms = [
    secret,
    encoded,
    encoded.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    new URLSearchParams({ v: secret }).toString().slice('v='.length),
    JSON.stringify(secret).slice(1, -1),
    base64,
    base64.replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
  ];
  return new Set(forms.filter((form) => form.length >= LEAST_CHARS));
}
