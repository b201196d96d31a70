import { namesOf } from '../clauses.ts';
import { currencyParameter } from '../format/encode-format.ts';
import type { ActionDefinition, ConnectorFile, Parameter } from '../format/format.ts';
import type { SemanticFault } from './semantic-fault.ts';
import { namesRead } from './reads-semantics.ts';
import { parametersOf } from '../parameters.ts';
import { pagingParameters } from '../schemas/action-schemas.ts';

/** Parts of a message (`email`). */
const EMAIL_PARTS = new Set([
  'from',
  'to',
  'cc',
  'bcc',
  'replyTo',
  'subject',
  'text',
  'html',
  'inReplyTo',
  'references',
  'attachments',
]);

/** Parts of the file of a `related` body. */
const FILE_PARTS = new Set(['content', 'base64', 'contentType', 'file']);

/**
 * Returns the faults of `parts`, `compose` and `email`: missing names, and texts that could break out of their clause.
 */
export function partFaults(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  const faults: SemanticFault[] = [];
  const paged = pagingParameters(file, action, 'compose').map(({ name }) => name);
  const currencies = parametersOf(action).map(({ parameter }) => currencyParameter(parameter.encode));
  const used = new Set<string | undefined>([...namesRead(action), ...currencies]);
  for (const [wire, clauses] of Object.entries(action.compose)) {
    const named = clauses.flatMap((clause, index) => namesOf(clause).map((one) => ({ ...one, index })));
    for (const { name, quoted, index } of named) {
      used.add(name);
      const part = action.parts[name];
      if (!part && paged.includes(name)) continue;
      const rule = part ? clauseFault(name, part, quoted) : `{${name}} is none of parts`;
      if (rule !== undefined) faults.push({ path: `${path}.compose.${wire}.${index}`, rule });
    }
  }
  for (const name of paged) {
    if (!used.has(name))
      faults.push({ path: `${path}.compose`, rule: `must name {${name}}, which its paging sends` });
  }
  if (needsEscape(action) && (action.escape ?? file.escape) === undefined) {
    const rule = 'is required with quoted texts: backslash or double, as the query language escapes a quote';
    faults.push({ path: `${path}.escape`, rule });
  }
  const related = (action.bodyType ?? file.bodyType) === 'related';
  for (const name of Object.keys(action.parts)) {
    const known = (action.email && EMAIL_PARTS.has(name)) || (related && FILE_PARTS.has(name));
    if (!used.has(name) && !known)
      faults.push({
        path: `${path}.parts.${name}`,
        rule: 'stands neither in compose nor in an email or file, nor do before, each, after, bodyMap or encode read it',
      });
  }
  return faults;
}

function needsEscape(action: ActionDefinition): boolean {
  const quotes = parametersOf(action).some(({ parameter }) => parameter.quote !== undefined);
  const clauses = Object.values(action.compose).flat();
  return quotes || clauses.flatMap(namesOf).some(({ quoted }) => quoted);
}

/**
 * Returns the fault of a part. Outside of quotes a text could be any code of the query language, unless its file
 * restricts it.
 */
function clauseFault(name: string, part: Parameter, quoted: boolean): string | undefined {
  const { type } = part;
  if (type === 'array' || type === 'object') return `{${name}} must be no ${type}`;
  const free = type === 'string' && part['enum'] === undefined && part['pattern'] === undefined;
  if (quoted || (type !== undefined && !free) || part['enum'] !== undefined) return undefined;
  return `{${name}} stands outside of quotes, so it needs an enum or a pattern`;
}
