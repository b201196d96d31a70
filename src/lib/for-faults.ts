import { z } from 'zod';
import { UNKNOWN_MEMBER } from './errors.ts';
import { listOf, oneOf, typeRule } from './near-members.ts';
import { didYouMean } from './words.ts';

/**
 * Options of safeParse() for faultsOf(): it needs the input. A fault of an unknown member proposes the nearest known
 * one, else it lists them. Several unknown members have a line each, in their order.
 */
export const FOR_FAULTS = {
  reportInput: true,
  error: (issue: z.core.$ZodRawIssue): string | undefined => {
    if (issue.code === 'invalid_type') return typeRule(issue.expected, issue.input);
    if (issue.code === 'invalid_value') return oneOf(issue.values, issue.input);
    if (issue.code !== 'unrecognized_keys') return undefined;
    const known = issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape) : [];
    return issue.keys.map((key) => unknownRule(key, known)).join('\n');
  },
};

function unknownRule(key: string, known: readonly string[]): string {
  const proposal = didYouMean(key, known);
  return `${UNKNOWN_MEMBER}${proposal === '' ? listOf(known) : `.${proposal}`}`;
}
