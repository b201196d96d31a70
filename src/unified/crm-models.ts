import { z } from 'zod';
import { currency, day, money, postalAddress, quantity, tags, text, texts } from './model-parts.ts';

/* The unified models of customer relationship management. */

export const contact = z.strictObject({
  firstName: text,
  lastName: text,
  emails: texts,
  phones: texts,
  companyIds: texts,
  ownerId: text,
  jobTitle: text,
  companyName: text,
  website: text,
  addresses: z.array(postalAddress).default([]),
  tags,
});

export const company = z.strictObject({
  name: text,
  domain: text,
  phones: texts,
  addresses: z.array(postalAddress).default([]),
  website: text,
  industry: text,
  employees: quantity,
  description: text,
  ownerId: text,
  tags,
});

export const deal = z.strictObject({
  name: text,
  amount: money,
  currency,
  stage: text,
  status: z.enum(['open', 'won', 'lost']).nullable().default(null),
  closeDate: day,
  contactIds: texts,
  companyIds: texts,
  pipeline: text,
  probability: quantity,
  description: text,
  ownerId: text,
});
