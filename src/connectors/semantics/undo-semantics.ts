import { pagingOf } from '../schemas/action-schemas.ts';
import { effectOf } from '../effects.ts';
import type { ActionDefinition, ConnectorFile } from '../format/format.ts';
import { oneReadFaults } from './reads-semantics.ts';
import type { SemanticFault } from './semantic-fault.ts';

/** Returns the faults of `undo`: an inverse that is missing or internal, wrong names, and actions that change nothing. */
export function undoFaults(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  const { undo, response } = action;
  if (!undo) return [];
  const at = `${path}.undo`;
  const faults = oneReadFaults(file, action, {
    read: undo,
    path: at,
    roots: ['input', 'result'],
    mayWrite: true,
  });
  if (effectIn(action) === 'read') faults.push({ path: at, rule: 'is for actions that change something' });
  if (pagingOf(file, action)) faults.push({ path: at, rule: 'is not for list actions' });
  if (response.body === 'content') faults.push({ path: at, rule: 'is not for response.body: content' });
  const inverse = file.actions[undo.action];
  if (inverse === action) faults.push({ path: `${at}.action`, rule: 'must be another action' });
  if (inverse?.internal)
    faults.push({
      path: `${at}.action`,
      rule: `"${undo.action}" is internal, so no restriction can name it`,
    });
  if (inverse && effectIn(inverse) === 'read')
    faults.push({ path: `${at}.action`, rule: `"${undo.action}" changes nothing` });
  return faults;
}

function effectIn({ effect, request }: ActionDefinition): string {
  return effect ?? effectOf(request.split(' ')[0] ?? '');
}
