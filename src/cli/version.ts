import { readFileSync } from 'node:fs';
import { packagePath } from '../package.ts';

/** Returns the version of this package, from its package.json. */
export function version(): string {
  const { version: text }: { version: string } = JSON.parse(
    readFileSync(packagePath('package.json'), 'utf8'),
  );
  return text;
}
