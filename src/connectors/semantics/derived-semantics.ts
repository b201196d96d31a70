import { patternFault } from '../../lib/linear-pattern.ts';
import type { Authentication, ConnectorFile } from '../format/format.ts';
import type { SemanticFault } from './semantic-fault.ts';

/** Returns the faults of `derived`: sources that do not exist, names in use, and patterns without a group. */
export function derivedFaults(
  file: ConnectorFile,
  scheme: Exclude<Authentication, { type: 'none' }>,
  { path, implicit }: { path: string; implicit: readonly string[] },
): SemanticFault[] {
  const entered = [...implicit, ...Object.keys(scheme.fields), ...Object.keys(file.variables)];
  return Object.entries(scheme.derived).flatMap(([name, { from, pattern }]) => {
    const at = `${path}.derived.${name}`;
    const faults: SemanticFault[] = [];
    if (entered.includes(name)) faults.push({ path: at, rule: 'is already a field or a variable' });
    if (!entered.includes(from))
      faults.push({ path: `${at}.from`, rule: `"${from}" is no field; fields: ${entered.join(', ')}` });
    const rule = pattern === undefined ? undefined : patternRule(pattern);
    if (rule !== undefined) faults.push({ path: `${at}.pattern`, rule });
    return faults;
  });
}

function patternRule(pattern: string): string | undefined {
  const groups = pattern.replaceAll(/\\.|\[(?:\\.|[^\]])*\]/g, '').match(/\((?!\?)/g) ?? [];
  return (
    patternFault(pattern) ?? (groups.length === 1 ? undefined : 'must have one group, which is the value')
  );
}
