import { z } from 'zod';
import type { EventScope } from '../connectors/event-scopes.ts';
import { accountingContact, invoice, payment } from './accounting-models.ts';
import { customer, order, product, variant } from './commerce-models.ts';
import { company, contact, deal } from './crm-models.ts';
import { ticket } from './ticketing-models.ts';

/* The unified models: one form for the records of every app. */

/** Results of a connector's `map`, by scope. They are strict: a misspelt member is a fault of the file. */
export const UNIFIED_MODELS = {
  'commerce/customers': customer,
  'commerce/orders': order,
  'commerce/products': product,
  'crm/contacts': contact,
  'crm/companies': company,
  'crm/deals': deal,
  'accounting/contacts': accountingContact,
  'accounting/invoices': invoice,
  'accounting/payments': payment,
  'ticketing/tickets': ticket,
} satisfies Record<EventScope, z.ZodType>;

const common = {
  id: z.string().meta({ description: 'Stable id of the record in Gatehouse.' }),
  remoteId: z.string().meta({ description: 'The id at the app.' }),
  createdAt: z.iso.datetime().nullable(),
  updatedAt: z.iso.datetime().nullable(),
  custom: z
    .record(z.string(), z.json())
    .optional()
    .meta({ description: 'Fields of the operator’s own mappings.' }),
  incomplete: z
    .string()
    .optional()
    .meta({ description: 'Why the record could not be read after it was written; absent otherwise.' }),
  raw: z.json().meta({ description: 'The unchanged record of the app.' }),
};

const wholeVariant = variant.extend({
  id: z.string().nullable().meta({
    description: 'Stable id of the variant in Gatehouse; null where the app gives the variant no id.',
  }),
  productId: z.string().meta({ description: 'The `id` of its product.' }),
});

/** A whole unified record of any scope, as it is returned and delivered. */
export const unifiedRecord = z.union([
  customer.extend(common).meta({ id: 'Customer', description: 'A customer in unified form.' }),
  order.extend(common).meta({ id: 'Order', description: 'An order in unified form.' }),
  product
    .extend({ ...common, variants: z.array(wholeVariant) })
    .meta({ id: 'Product', description: 'A product in unified form.' }),
  contact.extend(common).meta({ id: 'Contact', description: 'A contact in unified form.' }),
  company.extend(common).meta({ id: 'Company', description: 'A company in unified form.' }),
  deal.extend(common).meta({ id: 'Deal', description: 'A deal in unified form.' }),
  accountingContact
    .extend(common)
    .meta({ id: 'AccountingContact', description: 'A customer or supplier in unified form.' }),
  invoice.extend(common).meta({ id: 'Invoice', description: 'An invoice or a bill in unified form.' }),
  payment.extend(common).meta({ id: 'Payment', description: 'A payment in unified form.' }),
  ticket.extend(common).meta({ id: 'Ticket', description: 'A ticket in unified form.' }),
]);

const { id, remoteId, createdAt, updatedAt, raw } = common;
/** A record of an event source of the app's own, as it is returned and delivered. */
export const appRecord = z
  .object({ id, remoteId, createdAt, updatedAt, raw })
  .meta({ id: 'AppRecord', description: 'A record of an event source of the app itself, without a model.' });
