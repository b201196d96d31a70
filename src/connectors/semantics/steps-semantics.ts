import { effectOf, effectsIn, mostSevereOf } from '../effects.ts';
import { filesOf } from '../file-values.ts';
import type { ActionDefinition, ConnectorFile } from '../format/format.ts';
import { openNames } from '../open-names.ts';
import { oneReadFaults } from './reads-semantics.ts';
import { pagingOf } from '../schemas/action-schemas.ts';
import type { SemanticFault } from './semantic-fault.ts';
import type { UploadStep } from '../format/steps-format.ts';
import { templateNames } from '../templates.ts';

/** Returns the faults of `after`: missing names, actions that cannot be steps, and steps with a more severe effect. */
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
  const files = filesOf(action).map(({ name }) => name);
  const known = ['input', 'value', ...(files.length > 0 ? ['files'] : [])];
  for (const [name, step] of Object.entries(after.steps)) {
    const at = `${path}.after.steps.${name}`;
    if (known.includes(name)) faults.push({ path: at, rule: `"${name}" already names something else` });
    if (!('action' in step)) {
      const place = 'upload' in step ? 'upload' : 'download';
      const [root = ''] = ('upload' in step ? step.upload : step.download).split('.');
      if (!known.includes(root))
        faults.push({ path: `${at}.${place}`, rule: `"${root}" is none of ${known.join(', ')}` });
      if ('upload' in step) faults.push(...uploadFaults(step, { own, files, path, at }));
      const open = openNames(file);
      for (const name of (step.origins ?? []).flatMap(templateNames))
        if (!open.has(name))
          faults.push({ path: `${at}.origins`, rule: `{${name}} is no variable or open field of this file` });
    } else {
      faults.push(...oneReadFaults(file, action, { read: step, path: at, roots: known, mayWrite: true }));
      const target = file.actions[step.action];
      if (target?.after) faults.push({ path: `${at}.action`, rule: `"${step.action}" has steps of its own` });
      const effects = target ? effectsIn(target, target.request.split(' ')[0] ?? '') : [];
      // Restrictions check only the effect of the action itself, so it must be as severe as that of each step.
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

/** Returns the faults of an upload: a missing file parameter, and an action whose effect is `read`. */
function uploadFaults(
  { file }: UploadStep,
  { own, files, path, at }: { own: string; files: string[]; path: string; at: string },
): SemanticFault[] {
  const faults: SemanticFault[] = [];
  if (!files.includes(file))
    faults.push({
      path: `${at}.file`,
      rule: `"${file}" is no parameter of the format binary of this action`,
    });
  if (own === 'read')
    faults.push({
      path: `${path}.effect`,
      rule: 'must be write or destructive, because a step uploads a file',
    });
  return faults;
}
