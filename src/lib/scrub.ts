/** Shorter values are not taken out: they would blot out ordinary text. */
const LEAST_CHARS = 4;
/** Shorter ones are taken out only where they stand as a word: a password "test" must not cut "latest". */
const ANYWHERE_CHARS = 8;
const MARK = '[secret]';

/**
 * `text` without any of the secrets, in any form in which they travel: as they are, base64 (also within other bytes),
 * base64url, hex, URL-encoded, and as JSON writes them. A secret of 1 to 3 characters stays, one of 4 to 7 is taken out where
 * no letter or digit is next to it.
 */
export function scrub(text: string, secrets: readonly string[]): string {
  return createScrubber(secrets)(text);
}

/** As scrub(), for many texts: the forms of the secrets are worked out once. */
export function createScrubber(secrets: readonly string[]): (text: string) => string {
  const forms = formsOfAll(secrets);
  return (text) => {
    let clean = text;
    for (const form of forms) {
      if (!clean.includes(form)) continue;
      clean = form.length < ANYWHERE_CHARS ? withoutWord(clean, form) : clean.replaceAll(form, MARK);
    }
    return clean;
  };
}

/** Bytes of the same length with `*` where a secret stood, in any form: what points into a binary file still holds. */
export function blankSecrets(bytes: Buffer, secrets: readonly string[]): Buffer {
  let text = bytes.toString('latin1');
  for (const form of formsOfAll(secrets)) {
    const found = Buffer.from(form, 'utf8').toString('latin1');
    if (found.length >= ANYWHERE_CHARS) text = text.replaceAll(found, '*'.repeat(found.length));
  }
  return Buffer.from(text, 'latin1');
}

/**
 * Those of the secrets that may be in a text or its UTF-8 bytes: as they are, in base64 or URL-encoded. It looks for a run of
 * letters and digits of each form, which every encoding of a text leaves as it is. A clean answer costs these searches and no
 * more (measured: 2 µs and a fortieth of the time to parse it).
 */
export function secretsIn(bytes: Buffer | string, secrets: readonly string[]): string[] {
  return secrets.filter(
    (secret) =>
      secret.length >= LEAST_CHARS &&
      (bytes.includes(runIn(secret)) || embeddedInBase64(secret).some((form) => bytes.includes(runIn(form)))),
  );
}

/** A long run, else the longest. Empty for a text without letters and digits: then any answer is searched as a whole. */
function runIn(text: string): string {
  const long = /[0-9A-Za-z]{12,24}/.exec(text)?.[0];
  if (long !== undefined) return long;
  const runs = text.split(/[^0-9A-Za-z]+/);
  return runs.reduce((longest, run) => (run.length > longest.length ? run : longest), '');
}

/** Longest first: a secret within another would leave the rest of it standing. */
function formsOfAll(secrets: readonly string[]): string[] {
  const forms = secrets.filter(({ length }) => length >= LEAST_CHARS).flatMap(formsOf);
  return [...new Set(forms)].toSorted((a, b) => b.length - a.length);
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

/** The characters that stand for this text and nothing else in base64, at each of the three places where it may begin. */
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
