import { z } from 'zod';
import { fieldsSchema } from '../actions/projection.ts';
import type { ErrorCode } from '../lib/errors.ts';

/** The members of each record that are wanted. */
export const fields = fieldsSchema.meta({
  description:
    'Answer with these members of each record alone: dotted paths, through lists too, such as `customer.email` and ' +
    '`lines.sku`; `\\.` is a dot of a name. What nothing has is told in `unmatchedFields`.',
});

/** What running an action answers with. */
export const executed = z.object({
  data: z.unknown(),
  pagination: z.object({ hasMore: z.boolean(), nextOffset: z.int().optional() }).optional(),
  unmatchedFields: z
    .array(z.string())
    .optional()
    .meta({ description: 'Those of `fields` that the result has nowhere.' }),
});

/** What running an action can meet. */
export const EXECUTION_ERRORS: ErrorCode[] = [
  'connector_not_found',
  'action_not_found',
  'credential_not_found',
  'credential_required',
  'credential_ambiguous',
  'credential_conflict',
  'credential_invalid',
  'idempotency_conflict',
  'idempotency_in_progress',
  'upstream_rejected',
  'upstream_rate_limited',
  'upstream_failed',
  'upstream_too_large',
  'upstream_timeout',
];
