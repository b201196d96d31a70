import { effectsIn } from '../effects.ts';
import type { Condition } from '../format/format-parts.ts';
import type { ActionDefinition, ConnectorFile } from '../format/format.ts';
import type { SemanticFault } from './semantic-fault.ts';
import type { EachRead } from '../format/reads-format.ts';
import { parametersOf } from '../parameters.ts';
import { pagingOf } from '../schemas/action-schemas.ts';

/** A call that a file makes for another one. */
type ReadDefinition = Pick<EachRead, 'action' | 'input'> & Partial<EachRead>;

/** Returns the faults of `before` and `each`: actions that do not read, and missing names. */
export function readFaults(file: ConnectorFile, action: ActionDefinition, path: string): SemanticFault[] {
  const { before, each = [] } = action;
  const faults = each.flatMap((read, index) =>
    oneReadFaults(file, action, { read, path: `${path}.each.${index}`, roots: ['input', 'record'] }),
  );
  if (each.length > 0 && !pagingOf(file, action))
    faults.push({ path: `${path}.each`, rule: 'is for list actions, which have paging' });
  if (!before) return faults;
  const known = ['input'];
  for (const [name, read] of Object.entries(before.reads)) {
    const at = `${path}.before.reads.${name}`;
    faults.push(
      ...oneReadFaults(file, action, {
        read,
        path: at,
        roots: read.for === undefined ? known : [...known, 'item'],
      }),
    );
    const [root = ''] = (read.for ?? 'input').split('.');
    if (!known.includes(root))
      faults.push({ path: `${at}.for`, rule: `"${root}" is none of ${known.join(', ')}` });
    known.push(name);
  }
  const own = namesOfParameters(action);
  for (const name of Object.keys(before.fill).filter((one) => !own.has(one)))
    faults.push({ path: `${path}.before.fill.${name}`, rule: 'is no parameter of this action' });
  return faults;
}

/** Returns the parameters that `before`, `each`, `after` and `bodyMap` use. */
export function namesRead({ before, each = [], after, bodyMap = '' }: ActionDefinition): Set<string> {
  const all = Object.values(after?.steps ?? {});
  const steps = all.filter((step) => 'action' in step);
  const uploads = all.filter((step) => 'upload' in step);
  const reads = [...each, ...Object.values(before?.reads ?? {}), ...steps];
  const conditions = reads.flatMap(({ when, unless }) => [when, unless]).filter((one) => one !== undefined);
  const texts = [
    ...reads.map(({ input }) => JSON.stringify(input)),
    ...Object.values(before?.fill ?? {}),
    bodyMap,
    after?.give ?? '',
  ];
  return new Set([
    ...conditions.map(rootOf),
    ...uploads.map(({ file }) => file),
    ...texts.flatMap((text) => [...text.matchAll(/\binput\.(\w+)/g)].map((match) => match[1] ?? '')),
  ]);
}

/** Returns the faults of one read, or of a step that may also write. */
export function oneReadFaults(
  file: ConnectorFile,
  action: ActionDefinition,
  {
    read,
    path,
    roots,
    mayWrite = false,
  }: { read: ReadDefinition; path: string; roots: readonly string[]; mayWrite?: boolean },
): SemanticFault[] {
  const own = namesOfParameters(action);
  const faults = [read.when, read.unless]
    .filter((one) => one !== undefined && !own.has(rootOf(one)))
    .map(() => ({ path, rule: 'its condition names no parameter of this action' }));
  for (const place of pathsIn(read.input)) {
    const [root = '', name = ''] = place.split('.');
    if (!roots.includes(root))
      faults.push({ path: `${path}.input`, rule: `{${place}}: "${root}" is none of ${roots.join(', ')}` });
    else if (root === 'input' && !own.has(name))
      faults.push({ path: `${path}.input`, rule: `{${place}} names no parameter of this action` });
  }
  const target = file.actions[read.action];
  if (!target)
    return [...faults, { path: `${path}.action`, rule: `"${read.action}" is no action of this file` }];
  return [...faults, ...targetFaults(file, target, { read, path, mayWrite })];
}

function targetFaults(
  file: ConnectorFile,
  target: ActionDefinition,
  { read: { action, input }, path, mayWrite }: { read: ReadDefinition; path: string; mayWrite: boolean },
): SemanticFault[] {
  const faults: SemanticFault[] = [];
  const reads = effectsIn(target, target.request.split(' ')[0] ?? '').every((effect) => effect === 'read');
  const plain = !pagingOf(file, target) && !target.before && target.response.body !== 'content';
  if (!plain || (!reads && !mayWrite)) {
    const rule = `"${action}" must ${mayWrite ? '' : 'read, '}be no list and have no \`before\``;
    faults.push({ path: `${path}.action`, rule });
  }
  const parameters = parametersOf(target);
  for (const name of Object.keys(input).filter((one) => !parameters.some((known) => known.name === one)))
    faults.push({ path: `${path}.input.${name}`, rule: `is no parameter of "${action}"` });
  for (const { name, required } of parameters) {
    if (required && input[name] === undefined)
      faults.push({ path: `${path}.input`, rule: `lacks ${name}, which "${action}" requires` });
  }
  return faults;
}

function pathsIn(input: EachRead['input']): string[] {
  return [...JSON.stringify(input).matchAll(/\{([a-zA-Z_][\w.]*)\}/g)].map((match) => match[1] ?? '');
}

function namesOfParameters(action: ActionDefinition): Set<string> {
  return new Set(parametersOf(action).map(({ name }) => name));
}

function rootOf({ parameter }: Condition): string {
  return parameter.split('.')[0] ?? '';
}
