import { join } from 'node:path';
import { z } from 'zod';
import { listPackageFolder, packagePath, readPackageFile } from '../package.ts';

/** The phrases of the actions of a connector, by language. */
const file = z.record(z.string(), z.record(z.string(), z.array(z.string())));
const FOLDER = packagePath('data/phrases');

/**
 * Returns phrases with which people ask for the shipped actions, in five languages, by `connectorId.actionId`. They are
 * in data/phrases/<connectorId>.json.
 */
export function shippedPhrases(): ReadonlyMap<string, string[]> {
  const phrases = new Map<string, string[]>();
  for (const name of listPackageFolder(FOLDER)) {
    const actions = file.parse(JSON.parse(readPackageFile(join(FOLDER, name))));
    const connectorId = name.replace(/\.json$/, '');
    for (const [actionId, languages] of Object.entries(actions))
      phrases.set(`${connectorId}.${actionId}`, Object.values(languages).flat());
  }
  return phrases;
}
