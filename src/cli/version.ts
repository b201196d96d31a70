import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { PACKAGE_FOLDER } from '../package.ts';

/** The version of this package. */
export function version(): string {
  const text = readFileSync(new URL('package.json', PACKAGE_FOLDER), 'utf8');
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}
