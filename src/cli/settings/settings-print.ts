import { withoutHidden } from '../../lib/hidden-characters.ts';
import type { Difference } from '../../custom/compare-versions.ts';
import type { Json } from '../../lib/json.ts';
import type { Step } from './settings-part.ts';
import { recordName, type Plan } from './settings-plan.ts';

/* The difference between a settings file and an environment, for people and as JSON. */

const SIGN = { added: '+', changed: '~', removed: '-' } as const;
/** Characters of a value in a line. */
const MAX_VALUE = 70;

/** Returns the plan as lines, with one line for each changed member. */
export function planText({ steps, unchanged, extra, waiting, byHand }: Plan): string {
  const count = (change: Step['change']) => steps.filter((step) => step.change === change).length;
  const lines = steps.flatMap(stepLines);
  if (steps.length + waiting.length === 0) lines.push(`No difference: ${unchanged} unchanged.`);
  else
    lines.push(
      `${count('added')} to add, ${count('changed')} to change, ${count('removed')} to remove, ${unchanged} unchanged.`,
    );
  if (waiting.length > 0) lines.push('Cannot be made yet:', ...waiting.map((one) => `  ${one}`));
  if (extra.length > 0)
    lines.push('Not in the file (--prune removes them):', ...extra.map((one) => `  ${one}`));
  if (byHand.length > 0) lines.push('By hand:', ...byHand.map((one) => `  ${one}`));
  return lines.map((line) => `${withoutHidden(line)}\n`).join('');
}

/** Returns the plan as JSON, without the requests. */
export function planJson({ steps, ...others }: Plan) {
  return {
    changes: steps.map(({ kind, name, change, differences }) => ({
      kind,
      name,
      change,
      ...(change === 'changed' ? { differences } : {}),
    })),
    ...others,
  };
}

function stepLines({ kind, name, change, differences }: Step): string[] {
  return [`${SIGN[change]} ${recordName(kind, name)}`, ...differences.map(differenceLine)];
}

function differenceLine({ path, change, before, after }: Difference): string {
  if (change === 'added') return `    + ${path}: ${shown(after)}`;
  if (change === 'removed') return `    - ${path}: ${shown(before)}`;
  return `    ~ ${path}: ${shown(before)} -> ${shown(after)}`;
}

function shown(value: Json | undefined): string {
  const text = JSON.stringify(value ?? null);
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
}
