import { readFileSync } from 'node:fs';
import { PACKAGE_FOLDER } from '../package.ts';

/** Returns the version of this package, from its package.json. */
export function version(): string {
  const { version: text }: { version: string } = JSON.parse(
    readFileSync(new URL('package.json', PACKAGE_FOLDER), 'utf8'),
  );
  return text;
}
