import { questionOf } from '../../lib/words.ts';
import type { SemanticFault } from '../../connectors/semantics/semantic-fault.ts';
import type { Difference } from './differences.ts';

const MAX_NAMED = 3;

/** Returns differences in words. The same one in several actions, such as of a shared schema, is one sentence. */
export function sentencesOf(differences: readonly Difference[]): SemanticFault[] {
  const found = new Map<string, SemanticFault & { actionIds: string[] }>();
  for (const one of differences) {
    const { path, actionId } = one;
    const rule = sentenceOf(one);
    const known = found.get(`${path}\n${rule}`);
    const isOfAction = actionId === '' || path.startsWith(`actions.${actionId}`);
    const actionIds = isOfAction ? [] : [actionId];
    if (known) known.actionIds.push(...actionIds);
    else found.set(`${path}\n${rule}`, { path, rule, actionIds });
  }
  return [...found.values()].map(({ path, rule, actionIds }) => ({ path, rule: rule + namesOf(actionIds) }));
}

function namesOf(actionIds: string[]): string {
  if (actionIds.length === 0) return '';
  const more = actionIds.length - MAX_NAMED;
  return ` (${actionIds.slice(0, MAX_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''})`;
}

function sentenceOf({ kind, at, value = '', near = [] }: Difference): string {
  const place = `"${at.join('.')}"`;
  const question = questionOf(near);
  switch (kind) {
    case 'address':
      return `the document is about ${value}`;
    case 'noOperation':
      return `the document has no ${value}.${question}`.replace(/\.$/, '');
    case 'deprecated':
      return `the document marks ${at.length === 0 ? 'this operation' : place} as deprecated`;
    case 'scopes':
      return `the document requires ${scopesOf(value)}, which no scheme requests.${question}`;
    case 'ownScopes':
      return `the document requires ${scopesOf(value)}, which the action does not name.${question}`;
    case 'unknown':
      return `the document has no ${place}.${question}`.replace(/\.$/, '');
    case 'notSent':
      return `the document requires ${place}, which is not sent`;
    case 'optional':
      return `the document requires ${place}, and callers may leave it out: add required: true`;
    case 'value':
      return `the document has no value "${value}" for ${place}.${question}`.replace(/\.$/, '');
    case 'over':
      return `the document allows at most ${value} for ${place}`;
    case 'missing':
      return `the answer in the document has no ${place}.${question}`.replace(/\.$/, '');
  }
}

function scopesOf(value: string): string {
  return value.includes(', ') ? `one of the scopes ${value}` : `the scope ${value}`;
}
