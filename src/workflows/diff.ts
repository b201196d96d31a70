import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Json } from '../lib/json.ts';
import type { Version } from './workflow-records.ts';
import { compareFields, sameFields } from './configurable-fields.ts';

/** A member that differs between two versions. Steps are matched by their stepId. */
const difference = z.object({
  path: z.string(),
  kind: z.enum(['added', 'removed', 'changed', 'moved']),
  before: z.json().optional(),
  after: z.json().optional(),
});
type Difference = z.infer<typeof difference>;

/** The changes between two versions. `upgradable`: installations can be upgraded from `from` to `to`. */
export const versionDiffShape = z.object({
  from: z.int(),
  to: z.int(),
  upgradable: z.boolean(),
  addedFields: z.array(z.string()),
  removedFields: z.array(z.string()),
  changedFields: z.array(z.string()),
  changes: z.array(difference),
});

/** Returns the changes from one version to another. */
export function diffVersions(from: Version, to: Version): z.infer<typeof versionDiffShape> {
  const fields = compareFields(from.definition.configurableFields, to.definition.configurableFields);
  const { steps: stepsBefore, ...before } = from.definition;
  const { steps: stepsAfter, ...after } = to.definition;
  const changes = members('', toJson(before), toJson(after));
  const olds = new Map(stepsBefore.map((step, position) => [step.stepId, { step: toJson(step), position }]));
  const news = new Map(stepsAfter.map((step, position) => [step.stepId, { step: toJson(step), position }]));
  const stay = [...olds.keys()].filter((id) => news.has(id));
  const order = [...news.keys()].filter((id) => olds.has(id));
  for (const [stepId, { step, position }] of olds)
    if (!news.has(stepId))
      changes.push({ path: `steps.${stepId}`, kind: 'removed', before: { position, step } });
  for (const [stepId, { step, position }] of news) {
    const old = olds.get(stepId);
    if (!old) {
      changes.push({ path: `steps.${stepId}`, kind: 'added', after: { position, step } });
      continue;
    }
    if (stay.indexOf(stepId) !== order.indexOf(stepId))
      changes.push({ path: `steps.${stepId}`, kind: 'moved', before: old.position, after: position });
    changes.push(...members(`steps.${stepId}.`, old.step, step));
  }
  return {
    from: from.version,
    to: to.version,
    upgradable: sameFields(fields),
    addedFields: fields.added,
    removedFields: fields.removed,
    changedFields: fields.changed,
    changes,
  };
}

function members(
  below: string,
  before: { [name: string]: Json },
  after: { [name: string]: Json },
): Difference[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name): Difference[] => {
    const [old, now] = [before[name], after[name]];
    const path = `${below}${name}`;
    if (old === undefined) return [{ path, kind: 'added', after: now ?? null }];
    if (now === undefined) return [{ path, kind: 'removed', before: old }];
    return isDeepStrictEqual(old, now) ? [] : [{ path, kind: 'changed', before: old, after: now }];
  });
}

function toJson(value: object): { [name: string]: Json } {
  return JSON.parse(JSON.stringify(value));
}
