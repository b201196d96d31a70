import { z } from 'zod';
import { day, moment, tags, text } from './model-parts.ts';

/* The unified model of tickets: support requests and issues. */

export const ticket = z.strictObject({
  subject: text,
  description: text,
  status: z.enum(['open', 'waiting', 'closed']).nullable().default(null),
  priority: z.enum(['low', 'normal', 'high', 'urgent']).nullable().default(null),
  requesterId: text,
  assigneeId: text,
  tags,
  ticketNumber: text,
  stage: text,
  ticketKind: text,
  collectionId: text,
  companyId: text,
  dueDate: day,
  closedAt: moment,
  url: text,
});
