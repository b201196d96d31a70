import { z } from 'zod';
import { currency, day, money, postalAddress, quantity, text, texts } from './model-parts.ts';

/* The unified models of bookkeeping. */

const flag = z.boolean().nullable().default(null);

export const accountingContact = z.strictObject({
  name: text,
  emails: texts,
  phones: texts,
  isCustomer: flag,
  isSupplier: flag,
  currency,
  firstName: text,
  lastName: text,
  website: text,
  contactStatus: z.enum(['active', 'archived']).nullable().default(null),
  taxNumber: text,
  balance: money,
  addresses: z.array(postalAddress).default([]),
});

export const invoice = z.strictObject({
  number: text,
  contactId: text,
  status: z
    .enum(['draft', 'open', 'partially_paid', 'paid', 'void', 'uncollectible'])
    .nullable()
    .default(null),
  issueDate: day,
  dueDate: day,
  currency,
  total: money,
  amountDue: money,
  lineItems: z
    .array(
      z.strictObject({
        remoteId: text,
        description: text,
        itemId: text,
        accountId: text,
        quantity,
        unitPrice: money,
        totalTax: money,
        total: money,
      }),
    )
    .default([]),
  invoiceKind: z.enum(['sale', 'purchase']).nullable().default(null),
  subtotal: money,
  totalTax: money,
  contactName: text,
  contactEmail: text,
  reference: text,
  note: text,
  url: text,
});

export const payment = z.strictObject({
  invoiceId: text,
  amount: money,
  currency,
  date: day,
  paymentKind: z.enum(['received', 'sent']).nullable().default(null),
  paymentStatus: z
    .enum(['pending', 'completed', 'failed', 'cancelled', 'refunded', 'partially_refunded'])
    .nullable()
    .default(null),
  contactId: text,
  contactName: text,
  contactEmail: text,
  invoices: z.array(z.strictObject({ invoiceId: text, amount: money })).default([]),
  accountId: text,
  reference: text,
});
