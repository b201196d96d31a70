import { effectOf, effectsIn, mostSevereOf } from './effects.ts';
import type { ActionDefinition, ConnectorFile } from './format.ts';
import { oneReadFaults } from './reads-semantics.ts';
import { pagingOf } from './schemas.ts';
import type { SemanticFault } from './semantic-fault.ts';

/** Returns the faults of `after`: missing names, actions that cannot follow, and effects that it would hide. */
export function stepFaults(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  const { after } = action;
  if (!after) return [];
  const faults: SemanticFault[] = [];
  if (pagingOf(file, action))
    faults.push({ path: `${path}.after`, rule: 'is not for list actions; see each' });
  if (action.response.body !== 'json' && action.response.body !== 'xml')
    faults.push({ path: `${path}.after`, rule: `is not for response.body: ${action.response.body}` });
  const [method = ''] = action.request.split(' ');
  const own = action.effect ?? effectOf(method);
  const known = ['input', 'value'];
  for (const [name, step] of Object.entries(after.steps)) {
    const at = `${path}.after.steps.${name}`;
    if (known.includes(name)) faults.push({ path: at, rule: `"${name}" already names something else` });
    if ('download' in step) {
      const [root = ''] = step.download.split('.');
      if (!known.includes(root))
        faults.push({ path: `${at}.download`, rule: `"${root}" is none of ${known.join(', ')}` });
    } else {
      faults.push(...oneReadFaults(file, action, { read: step, path: at, roots: known, mayWrite: true }));
      const target = file.actions[step.action];
      if (target?.after) faults.push({ path: `${at}.action`, rule: `"${step.action}" has steps of its own` });
      const effects = target ? effectsIn(target, target.request.split(' ')[0] ?? '') : [];
      // Policies see only the action's own effect.
      if (mostSevereOf([own, ...effects]) !== own)
        faults.push({
          path: `${path}.effect`,
          rule: `must be ${mostSevereOf(effects)}, because the step ${name} is`,
        });
    }
    known.push(name);
  }
  return faults;
}
