import { isUtf8 } from 'node:buffer';
import type { Json } from '../lib/json.ts';
import { blankSecrets } from '../lib/scrub.ts';

/** Returns a file as JSON: UTF-8 text unchanged, other content in base64. */
export function fileOf(contentType: string, bytes: Buffer, reflected: readonly string[]): Json {
  const file = { contentType, size: bytes.length };
  if (isUtf8(bytes) && !bytes.includes(0)) return { ...file, text: bytes.toString('utf8') };
  const clean = reflected.length > 0 ? blankSecrets(bytes, reflected) : bytes;
  return { ...file, base64: clean.toString('base64') };
}
