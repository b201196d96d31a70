import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { listPackageFolder, packagePath } from '../package.ts';

/** The phrases of the actions of a connector, by language. */
const file = z.record(z.string(), z.record(z.string(), z.array(z.string())));
const FOLDER = packagePath('data/phrases');

/** Phrases with which people ask for an action, by language: `en`, `de`, `fr`, `es`, `pt`. */
export interface ActionPhrases {
  /** `connectorId.actionId` */
  name: string;
  phrases: Readonly<Record<string, readonly string[]>>;
}

/** Yields the phrases of the shipped actions. They are in data/phrases/<connectorId>.json. */
export function* shippedPhrases(): Generator<ActionPhrases> {
  for (const name of listPackageFolder(FOLDER)) {
    const actions = file.parse(JSON.parse(readFileSync(join(FOLDER, name), 'utf8')));
    const connectorId = name.replace(/\.json$/, '');
    for (const [actionId, phrases] of Object.entries(actions))
      yield { name: `${connectorId}.${actionId}`, phrases };
  }
}
