import { join } from 'node:path';
import { installPackages } from '../support/packages.ts';

/**
 * Returns the folder of programs/ with the clients and suites of its package.json, and installs them from npm if they
 * are missing.
 * @throws Error when they cannot be installed.
 */
export const installClients = (): Promise<string> => installPackages(join(import.meta.dirname, 'programs'));
