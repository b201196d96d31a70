import { z } from 'zod';

/*
 * The members that unified models are made of. A member that an app does not know is null, and a list is empty. Money is
 * a decimal string, times are ISO 8601 in UTC.
 */

export const text = z.string().nullable().default(null);

export const texts = z.array(z.string()).default([]);

/** `12.50`; never a number, which cannot hold every amount. */
export const money = z
  .string()
  .regex(/^-?\d{1,15}(\.\d{1,6})?$/, 'must be a decimal string such as "12.50"')
  .nullable()
  .default(null);

export const currency = z
  .string()
  .regex(/^[A-Z]{3}$/, 'must be three capital letters, ISO 4217')
  .nullable()
  .default(null);

export const quantity = z.number().nullable().default(null);

/** A day without a time: `2026-11-30`. */
export const day = z.iso.date('must be a day such as 2026-11-30').nullable().default(null);

/** A moment in UTC: `2026-11-30T12:00:00.000Z`. */
export const moment = z.iso.datetime('must be a time such as 2026-11-30T12:00:00Z').nullable().default(null);

export const tags = z.array(z.string()).default([]);

export const postalAddress = z
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

export const address = postalAddress.nullable().default(null);
