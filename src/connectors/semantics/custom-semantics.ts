import type { ConnectorFile } from '../format/format.ts';
import { originsOf } from '../origins.ts';
import type { SemanticFault } from './semantic-fault.ts';

/** Ids and names under which a connector would pass for a part of Gatehouse: its tools, resources and workflows. */
const OURS = new Set(['gatehouse', 'svc', 'run']);

/**
 * Returns the faults of a file as a custom connector. Its author is trusted less than the author of a shipped one, so
 * it may not choose names outside of its own.
 */
export function customFaults(file: ConnectorFile): SemanticFault[] {
  const faults: SemanticFault[] = [];
  if (OURS.has(file.id)) faults.push({ path: 'id', rule: `"${file.id}" is a name of Gatehouse itself` });
  if (/gatehouse/i.test(file.name.normalize('NFKC')))
    faults.push({ path: 'name', rule: 'must not name Gatehouse, because people trust that name' });
  if (file.toolNames === 'bare')
    faults.push({ path: 'toolNames', rule: 'must be prefixed in a custom connector' });
  for (const part of ['prompts', 'resources'] as const)
    if (Object.keys(file[part]).length > 0)
      faults.push({ path: part, rule: `a custom connector cannot bring ${part}` });
  for (const actionId of Object.keys(file.actions))
    if (actionId.endsWith('_svc'))
      faults.push({
        path: `actions.${actionId}`,
        rule: 'must not end in _svc, which is the mark of built-in tools',
      });
  const inner = originsOf(file).find((origin) => /\.invalid(:\d+)?$/.test(origin));
  if (inner !== undefined)
    faults.push({
      path: 'baseUrl',
      rule: `${inner} is inside of Gatehouse, and only a shipped file reaches it`,
    });
  return faults;
}
