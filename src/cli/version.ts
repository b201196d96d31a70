import { packagePath, readPackageFile } from '../package.ts';

/** Returns the version of this package, from its package.json. */
export function version(): string {
  const { version: text }: { version: string } = JSON.parse(readPackageFile(packagePath('package.json')));
  return text;
}
