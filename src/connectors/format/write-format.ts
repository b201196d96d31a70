import { z } from 'zod';
import { bodyPath, fieldName } from './format-parts.ts';

/* How a record is created and changed from its unified form: the members `create` and `update` of a unified model. */

const memberPath = z
  .string()
  .regex(
    /^[a-zA-Z0-9]{1,64}(\.[a-zA-Z0-9]{1,64}){0,3}$/,
    'must be a member such as email or lineItems.quantity',
  );

const unifiedWrite = z.strictObject({
  /** The action that writes it. */
  action: z.string().regex(/^[a-z0-9_]{1,64}$/),
  /**
   * The members of the model that callers may give: `email`, or `addresses.city` for one member of each address.
   * Others are refused, so that none is lost.
   */
  members: z.array(memberPath).min(1).max(100),
  /**
   * JSONata over the given members. It returns the input of the action. An absent member is not given; null empties
   * the member of an existing record.
   */
  map: z.string().min(1),
});

/** How a record is created from its unified form. */
export const unifiedCreate = unifiedWrite.extend({
  /** The members that must be given. */
  required: z.array(memberPath).default([]),
  /** Path of the record's id in the answer. Default: `remoteId` of the model. */
  id: bodyPath.min(1).optional(),
});

/** How a record is changed from its unified form. */
export const unifiedUpdate = unifiedWrite.extend({
  /** The parameter for the id. */
  param: fieldName,
});

export type UnifiedCreate = z.infer<typeof unifiedCreate>;
export type UnifiedUpdate = z.infer<typeof unifiedUpdate>;
