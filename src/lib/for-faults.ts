import { z } from 'zod';
import { UNKNOWN_MEMBER } from './errors.ts';
import { boundRule, listOf, oneOf, typeRule } from './near-members.ts';
import { didYouMean } from './words.ts';

/** Number of faults of one value that propose names. Others are counted, because a proposal costs 50 µs. */
const MAX_PROPOSALS = 200;

/** Options of safeParse() for faultsOf(): it needs the input. */
export interface ForFaults {
  reportInput: true;
  error(issue: z.core.$ZodRawIssue): string | undefined;
}

/**
 * Returns the options for the parse of one value. A fault of an unknown member proposes the nearest known one, else it
 * lists them. Several unknown members have a line each, in their order. Beyond 200 faults no name is proposed.
 */
export function forFaults(): ForFaults {
  let left = MAX_PROPOSALS;
  return {
    reportInput: true,
    error: (issue) => {
      if (issue.code === 'invalid_type') return typeRule(issue.expected, issue.input);
      if (issue.code === 'invalid_value')
        return left-- > 0 ? oneOf(issue.values, issue.input) : 'is not one of the known values';
      if (issue.code === 'too_small' || issue.code === 'too_big') return boundRule(issue);
      if (issue.code !== 'unrecognized_keys') return undefined;
      const known = issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape) : [];
      const proposed = issue.keys.slice(0, Math.max(0, left));
      left -= issue.keys.length;
      return proposed.length === 0
        ? UNKNOWN_MEMBER
        : proposed.map((key) => unknownRule(key, known)).join('\n');
    },
  };
}

function unknownRule(key: string, known: readonly string[]): string {
  const proposal = didYouMean(key, known);
  return `${UNKNOWN_MEMBER}${proposal === '' ? listOf(known) : `.${proposal}`}`;
}
