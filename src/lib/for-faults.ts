import { z } from 'zod';
import { UNKNOWN_MEMBER } from './errors.ts';

/** The longest list of known members in a fault. */
const MAX_KNOWN = 30;

/** Options of safeParse() for faultsOf(): it needs the input, and names the known members where one is unknown. */
export const FOR_FAULTS = {
  reportInput: true,
  error: (issue: z.core.$ZodRawIssue): string | undefined => {
    if (issue.code !== 'unrecognized_keys') return undefined;
    const known = issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape) : [];
    const isShort = known.length > 0 && known.length <= MAX_KNOWN;
    return isShort ? `${UNKNOWN_MEMBER}; known: ${known.join(', ')}` : UNKNOWN_MEMBER;
  },
};
