import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { packagePath } from '../../package.ts';
import { once } from '../../lib/memo.ts';

/** The meaning of an API field, with an example value. */
export interface FieldText {
  description: string;
  example?: unknown;
}

const texts = z.record(z.string(), z.union([z.string(), z.tuple([z.string(), z.unknown()])]));

/** Models and requests whose fields have the same meaning as those of another model. */
const ALIKE: Record<string, string> = {
  ServerWithToken: 'Server',
  createServer: 'Server',
  updateServer: 'Server',
  ConnectorDetails: 'Connector',
  Action: 'ActionSummary',
  CheckedCredential: 'Credential',
  createCredential: 'Credential',
  updateCredential: 'Credential',
  SubscriptionWithSecret: 'Subscription',
  ModalSession: 'ConnectSession',
  InstallationWithHook: 'Installation',
  RunDetails: 'Run',
  createWorkflow: 'Workflow',
  ApiKeyWithSecret: 'ApiKey',
  createKey: 'ApiKey',
};

/**
 * Returns the text of a field in data/api-fields.yaml. The most specific entry wins: `Delivery.attempts.status`,
 * then `attempts.status`, then `Delivery.status`, then `status`.
 */
export function fieldText(path: string): FieldText | undefined {
  const parts = path.split('.');
  const [first = '', name = ''] = [parts[0], parts.at(-1)];
  const alike = ALIKE[first];
  const keys = [
    path,
    ...(alike === undefined ? [] : [[alike, ...parts.slice(1)].join('.')]),
    parts.slice(-2).join('.'),
    `${first}.${name}`,
    ...(alike === undefined ? [] : [`${alike}.${name}`]),
    name,
  ];
  for (const key of keys) {
    const text = readFields().get(key);
    if (text) return text;
  }
  return undefined;
}

const readFields = once((): Map<string, FieldText> => {
  const entries = texts.parse(parse(readFileSync(packagePath('data/api-fields.yaml'), 'utf8')));
  return new Map(
    Object.entries(entries).map(([name, text]) => {
      const [description, example] = typeof text === 'string' ? [text] : text;
      return [name, { description, ...(example === undefined ? {} : { example }) }];
    }),
  );
});
