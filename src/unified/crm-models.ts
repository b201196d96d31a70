import { z } from 'zod';
import { address, currency, day, money, postalAddress, quantity, tags, text } from './model-parts.ts';

/* The unified models of customer relationship management. */

export const contact = z.strictObject({
  firstName: text,
  lastName: text,
  email: text,
  phone: text,
  jobTitle: text,
  companyName: text,
  companyId: text,
  website: text,
  ownerId: text,
  addresses: z.array(postalAddress).default([]),
  tags,
});

export const company = z.strictObject({
  companyName: text,
  domain: text,
  website: text,
  phone: text,
  industry: text,
  employees: quantity,
  description: text,
  ownerId: text,
  address,
  tags,
});

export const deal = z.strictObject({
  dealName: text,
  amount: money,
  currency,
  dealStatus: z.enum(['open', 'won', 'lost']).nullable().default(null),
  stage: text,
  pipeline: text,
  probability: quantity,
  closeDate: day,
  description: text,
  ownerId: text,
  companyId: text,
});
