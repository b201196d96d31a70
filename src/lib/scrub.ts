import { encodedBegins, encodedForms, mayEncode } from './encoded-text.ts';
import { memoByObject } from './memo.ts';
import type { Secret } from './secret.ts';

/** Shorter values stay, because their removal would cut ordinary text. */
const LEAST_CHARS = 4;
/** Shorter ones are removed only as whole words: a password "test" must not cut "latest". */
const ANYWHERE_CHARS = 8;
const MARK = '[secret]';

/**
 * Returns `text` without any of the secrets, in every form: plain, base64 (also within other bytes), base64url, hex,
 * URL-encoded or as HTML entities (all characters or some of them, also several times), and escaped for JSON. A secret of 1 to 3 characters stays. One of 4 to 7 is removed where no letter or
 * digit is next to it.
 */
export function scrub(text: string, secrets: readonly string[]): string {
  return createScrubber(secrets)(text);
}

/** Returns scrub() for many texts, with the forms of the secrets computed once. */
export function createScrubber(secrets: readonly string[]): (text: string) => string {
  const forms = formsOfAll(secrets);
  let encoded: RegExp[] | undefined;
  return (text) => {
    let clean = text;
    for (const form of forms) {
      if (!clean.includes(form)) continue;
      clean = form.length < ANYWHERE_CHARS ? withoutWord(clean, form) : clean.replaceAll(form, MARK);
    }
    if (!mayEncode(clean)) return clean;
    encoded ??= encodedFormsOfAll(secrets);
    for (const form of encoded) clean = clean.replaceAll(form, MARK);
    return clean;
  };
}

/** Returns bytes of the same length with `*` in place of each secret, so that offsets in a binary file stay valid. */
export function blankSecrets(bytes: Buffer, secrets: readonly string[]): Buffer {
  let text = bytes.toString('latin1');
  for (const form of formsOfAll(secrets)) {
    const found = Buffer.from(form, 'utf8').toString('latin1');
    if (found.length >= ANYWHERE_CHARS) text = text.replaceAll(found, '*'.repeat(found.length));
  }
  for (const form of encodedFormsOfAll(secrets))
    text = text.replaceAll(form, (found) => '*'.repeat(found.length));
  return Buffer.from(text, 'latin1');
}

/**
 * Returns the secrets that may be in a text or its UTF-8 bytes: plain, in base64, hex, URL-encoded or as HTML entities. It
 * searches a run of letters and digits of each form, which most encodings of a text leave unchanged. A clean answer costs
 * only these searches (measured: 2 µs and a fortieth of the time to parse it).
 */
export function secretsIn(bytes: Buffer | string, secrets: readonly Secret[]): string[] {
  const hasPercent = bytes.includes('%');
  const hasEntities = bytes.includes('&#');
  const has = (run: string) => bytes.includes(run);
  return secrets
    .filter((secret) => {
      const { runs, percent, entities } = runsOf(secret);
      return runs.some(has) || (hasPercent && percent.some(has)) || (hasEntities && entities.some(has));
    })
    .map((secret) => secret.open());
}

/** Returns the texts that secretsIn() searches. Cached, because every call of a credential searches them. */
const runsOf = memoByObject((secret: Secret) => {
  const text = secret.open();
  if (text.length < LEAST_CHARS) return { runs: [], percent: [], entities: [] };
  const hex = Buffer.from(text).toString('hex');
  const inHex = text.length < ANYWHERE_CHARS ? [] : [hex, hex.toUpperCase()];
  return { runs: [text, ...embeddedInBase64(text), ...inHex].map(runIn), ...encodedBegins(text) };
});

/**
 * Returns a long run of letters and digits, else the longest. A text without any gives an empty run, which every
 * answer contains.
 */
function runIn(text: string): string {
  const long = /[0-9A-Za-z]{12,24}/.exec(text)?.[0];
  if (long !== undefined) return long;
  const runs = text.split(/[^0-9A-Za-z]+/);
  return runs.reduce((longest, run) => (run.length > longest.length ? run : longest), '');
}

/** Returns all forms, longest first; otherwise a secret within another one would leave the rest of it. */
function formsOfAll(secrets: readonly string[]): string[] {
  const forms = secrets.filter(({ length }) => length >= LEAST_CHARS).flatMap(formsOf);
  return [...new Set(forms)].toSorted((a, b) => b.length - a.length);
}

function encodedFormsOfAll(secrets: readonly string[]): RegExp[] {
  return secrets.filter(({ length }) => length >= ANYWHERE_CHARS).flatMap(encodedForms);
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const encoded = encodeURIComponent(secret.toWellFormed());
  const base64 = bytes.toString('base64');
  const inBase64 = embeddedInBase64(secret).filter(({ length }) => length >= ANYWHERE_CHARS);
  const forms = [
    secret,
    encoded,
    encoded.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    new URLSearchParams({ v: secret }).toString().slice('v='.length),
    JSON.stringify(secret).slice(1, -1),
    base64,
    encodeURIComponent(base64),
    base64.replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...inBase64,
    ...inBase64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_')),
  ];
  return forms.filter((form) => form.length >= LEAST_CHARS);
}

/**
 * Returns the characters that encode this text and nothing else in base64, at each of the three offsets where it may
 * begin.
 */
function embeddedInBase64(secret: string): string[] {
  const length = Buffer.byteLength(secret);
  const bytes = Buffer.alloc(length + 2);
  bytes.write(secret, 2);
  return [0, 1, 2].map((before) => {
    const text = bytes.toString('base64', 2 - before);
    return text.slice(Math.ceil((8 * before) / 6), Math.floor((8 * (before + length)) / 6));
  });
}

function withoutWord(text: string, word: string): string {
  let clean = '';
  let from = 0;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, from)) {
    const end = at + word.length;
    const isWord = !isWordPart(text.charAt(at - 1)) && !isWordPart(text.charAt(end));
    clean += text.slice(from, at) + (isWord ? MARK : word);
    from = end;
  }
  return clean + text.slice(from);
}

function isWordPart(character: string): boolean {
  return /[\p{L}\p{N}]/u.test(character);
}
