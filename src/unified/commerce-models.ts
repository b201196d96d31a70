import { z } from 'zod';
import { address, currency, money, postalAddress, quantity, tags, text } from './model-parts.ts';

/* The unified models of shops. */

export const customer = z.strictObject({
  firstName: text,
  lastName: text,
  email: text,
  phone: text,
  company: text,
  currency,
  tags,
  addresses: z.array(postalAddress).default([]),
});

export const order = z.strictObject({
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
  tags,
});

export const variant = z.strictObject({
  remoteId: text,
  title: text,
  sku: text,
  price: money,
  optionValues: z.array(z.strictObject({ name: text, value: text })).default([]),
  inventory: z.strictObject({ totalCount: quantity }).nullable().default(null),
  weight: z.strictObject({ value: quantity, unit: text }).nullable().default(null),
});

export const product = z.strictObject({
  productName: text,
  productType: text,
  productStatus: z.enum(['active', 'draft', 'archived']).nullable().default(null),
  productUrl: text,
  description: text,
  vendor: text,
  currency,
  price: money,
  sku: text,
  tags,
  images: z.array(z.strictObject({ src: z.string() })).default([]),
  variants: z.array(variant).default([]),
});
