import { z } from 'zod';
import type { EventScope } from '../connectors/event-scopes.ts';

/*
 * The unified models: the common form of every app's customers, orders and products. Members that an app does not know
 * are null, lists are empty. Money is a decimal string, times are ISO 8601 in UTC.
 */

const text = z.string().nullable().default(null);
/** `12.50`; never a number, which cannot hold every amount. */
const money = z
  .string()
  .regex(/^-?\d{1,15}(\.\d{1,6})?$/, 'must be a decimal string such as "12.50"')
  .nullable()
  .default(null);
const currency = z
  .string()
  .regex(/^[A-Z]{3}$/, 'must be three capital letters, ISO 4217')
  .nullable()
  .default(null);
const quantity = z.number().nullable().default(null);

const postalAddress = z
  .strictObject({
    firstName: text,
    lastName: text,
    company: text,
    address1: text,
    address2: text,
    city: text,
    region: text,
    postalCode: text,
    country: z
      .string()
      .nullable()
      .default(null)
      .meta({ description: 'Two letters, ISO 3166-1, where known.' }),
    phone: text,
  })
  .meta({ id: 'Address', description: 'A postal address.' });
const address = postalAddress.nullable().default(null);

const customer = z.strictObject({
  firstName: text,
  lastName: text,
  email: text,
  phone: text,
  company: text,
  currency,
  tags: z.array(z.string()).default([]),
  addresses: z.array(postalAddress).default([]),
});

const order = z.strictObject({
  orderNumber: text,
  orderStatus: z.enum(['draft', 'open', 'completed', 'cancelled']).nullable().default(null),
  paymentStatus: z
    .enum([
      'pending',
      'authorized',
      'partially_paid',
      'paid',
      'partially_refunded',
      'refunded',
      'voided',
      'failed',
    ])
    .nullable()
    .default(null),
  fulfillmentStatus: z
    .enum(['unfulfilled', 'partially_fulfilled', 'fulfilled', 'returned'])
    .nullable()
    .default(null),
  currency,
  totalPrice: money,
  subtotalPrice: money,
  totalDiscount: money,
  totalShipping: money,
  totalTax: money,
  customer: z
    .strictObject({ customerId: text, firstName: text, lastName: text, email: text, phone: text })
    .nullable()
    .default(null),
  lineItems: z
    .array(
      z.strictObject({
        remoteId: text,
        productId: text,
        variantId: text,
        title: text,
        sku: text,
        quantity,
        price: money,
        unitCost: money,
        currency,
      }),
    )
    .default([]),
  billingAddress: address,
  shippingAddress: address,
  note: text,
  tags: z.array(z.string()).default([]),
});

const variant = z.strictObject({
  remoteId: text,
  title: text,
  sku: text,
  price: money,
  optionValues: z.array(z.strictObject({ name: text, value: text })).default([]),
  inventory: z.strictObject({ totalCount: quantity }).nullable().default(null),
  weight: z.strictObject({ value: quantity, unit: text }).nullable().default(null),
});

const product = z.strictObject({
  productName: text,
  productType: text,
  productStatus: z.enum(['active', 'draft', 'archived']).nullable().default(null),
  productUrl: text,
  description: text,
  vendor: text,
  currency,
  price: money,
  sku: text,
  tags: z.array(z.string()).default([]),
  images: z.array(z.strictObject({ src: z.string() })).default([]),
  variants: z.array(variant).default([]),
});

/** Results of a connector's `map`, by scope. They are strict: a misspelt member is a fault of the file. */
export const UNIFIED_MODELS = {
  'commerce/customers': customer,
  'commerce/orders': order,
  'commerce/products': product,
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
]);
