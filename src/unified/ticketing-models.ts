import { z } from 'zod';
import { day, moment, tags, text } from './model-parts.ts';

/* The unified model of tickets: support requests and issues. */

const person = z.strictObject({ personId: text, name: text, email: text });

export const ticket = z.strictObject({
  title: text,
  description: text,
  ticketNumber: text,
  ticketStatus: z.enum(['open', 'waiting', 'closed']).nullable().default(null),
  stage: text,
  priority: z.enum(['low', 'normal', 'high', 'urgent']).nullable().default(null),
  ticketKind: text,
  collectionId: text,
  reporter: person.nullable().default(null),
  assignees: z.array(person).default([]),
  companyId: text,
  dueDate: day,
  closedAt: moment,
  url: text,
  tags,
});
