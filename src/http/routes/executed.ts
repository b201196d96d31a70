import { z } from 'zod';
import { fieldsSchema } from '../../actions/projection.ts';
import type { ErrorCode } from '../../lib/errors.ts';
import { pagination, time } from '../server/shapes.ts';
import { corrections } from './corrected-calls.ts';

/** The members of each record to return. */
export const fields = fieldsSchema.meta({
  description:
    'Return only these members of each record: dotted paths, also through lists, such as `customer.email` and ' +
    '`lines.sku`. `\\.` is a dot in a name. `unmatchedFields` lists the members that no record has.',
});

/** Result of an action. */
export const executed = z
  .object({
    data: z.unknown(),
    pagination: pagination.optional(),
    unmatchedFields: z
      .array(z.string())
      .optional()
      .meta({ description: 'Members of `fields` that no record has.' }),
    undo: z
      .object({ undoToken: z.string(), expiresAt: time })
      .optional()
      .meta({ description: 'How the call is undone, where its connector names an inverse.' }),
    corrections: corrections.optional(),
  })
  .meta({ id: 'ExecutionResult', description: 'Result of an action.' });

/** Error codes of running an action. */
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
