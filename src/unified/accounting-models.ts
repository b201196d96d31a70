import { z } from 'zod';
import { currency, day, money, postalAddress, quantity, text } from './model-parts.ts';

/* The unified models of bookkeeping. */

/** The customer or supplier that a document concerns. */
const party = z.strictObject({ contactId: text, name: text, email: text }).nullable().default(null);

export const accountingContact = z.strictObject({
  contactName: text,
  firstName: text,
  lastName: text,
  email: text,
  phone: text,
  website: text,
  contactKinds: z.array(z.enum(['customer', 'supplier'])).default([]),
  contactStatus: z.enum(['active', 'archived']).nullable().default(null),
  taxNumber: text,
  currency,
  balance: money,
  addresses: z.array(postalAddress).default([]),
});

export const invoice = z.strictObject({
  invoiceNumber: text,
  invoiceKind: z.enum(['sale', 'purchase']).nullable().default(null),
  invoiceStatus: z
    .enum(['draft', 'open', 'partially_paid', 'paid', 'void', 'uncollectible'])
    .nullable()
    .default(null),
  issueDate: day,
  dueDate: day,
  currency,
  subtotal: money,
  totalTax: money,
  total: money,
  amountDue: money,
  contact: party,
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
  reference: text,
  note: text,
  url: text,
});

export const payment = z.strictObject({
  paymentKind: z.enum(['received', 'sent']).nullable().default(null),
  paymentStatus: z
    .enum(['pending', 'completed', 'failed', 'cancelled', 'refunded', 'partially_refunded'])
    .nullable()
    .default(null),
  paymentDate: day,
  amount: money,
  currency,
  contact: party,
  invoices: z.array(z.strictObject({ invoiceId: text, amount: money })).default([]),
  accountId: text,
  reference: text,
});
