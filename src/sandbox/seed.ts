import { createHash } from 'node:crypto';
import { DAY } from '../lib/clock.ts';

export const CURRENCIES = ['EUR', 'USD', 'GBP', 'JPY'] as const;
export type Currency = (typeof CURRENCIES)[number];

/** A product. Amounts are whole minor units: cents, pence, and yen, which has none. */
export interface Product {
  id: string;
  sku: string;
  title: string;
  category: string;
  /** In minor units of EUR. */
  price: number;
  stock: number;
  active: boolean;
  created_at: string;
  updated_at: string;
}

export interface Customer {
  id: string;
  name: string;
  email: string;
  phone: string | null;
  company: string | null;
  country: string;
  segment: 'new' | 'regular' | 'vip';
  created_at: string;
  updated_at: string;
}

export interface OrderLine {
  product_id: string;
  title: string;
  quantity: number;
  /** In minor units of the order's currency. */
  unit_price: number;
}

export interface Order {
  id: string;
  number: number;
  customer_id: string;
  status: 'open' | 'paid' | 'shipped' | 'cancelled';
  currency: Currency;
  /** In minor units of `currency`. */
  total: number;
  lines: OrderLine[];
  note: string | null;
  created_at: string;
  updated_at: string;
}

export interface Seeded {
  customers: Customer[];
  orders: Order[];
  products: Product[];
}

export const SEEDED = { customers: 120, orders: 240, products: 60 } as const;
const FIRST_DAY = Date.parse('2025-01-01T00:00:00Z');
/** Minor units of a currency for one minor unit of EUR. The rates are fixed, so that the data never changes. */
const RATES: Record<Currency, number> = { EUR: 1, USD: 1.1, GBP: 0.85, JPY: 1.6 };

const GIVEN =
  'Ada Amara Benoît Carla Chidi Dario Elif Emma Farid Grace Hana Ines Ivan Jonas Kaito Lena Lucía Mateo Mei Nadia Noor Oskar Priya Rosa Samir Sofia Tomás Wanjiru Yara Zoë'.split(
    ' ',
  );
const FAMILY =
  'Abe Almeida Bauer Costa Diallo Eriksen Fischer García Haddad Ito Jansen Kaya Kowalski Larsen Lindqvist Mwangi Nakamura Novak Okafor Olsen Patel Rossi Santos Schmidt Silva Tanaka Torres Vasquez Weber Yilmaz'.split(
    ' ',
  );
const COMPANIES = 'Alder Birch Cedar Dune Ember Fjord Garnet Harbor Isle Juniper'.split(' ');
const COUNTRIES = ['DE', 'ES', 'FR', 'GB', 'JP', 'KE', 'NL', 'PT', 'SE', 'US'] as const;
const SEGMENTS = ['new', 'regular', 'regular', 'vip'] as const;
const STATUSES = ['open', 'paid', 'paid', 'shipped', 'shipped', 'cancelled'] as const;
const MATERIALS = 'Oak Linen Steel Glass Wool Copper Bamboo Leather Cork Ceramic'.split(' ');
const THINGS: readonly (readonly [title: string, category: string])[] = [
  ['Desk Lamp', 'lighting'],
  ['Notebook', 'stationery'],
  ['Water Bottle', 'kitchen'],
  ['Backpack', 'bags'],
  ['Chair', 'furniture'],
  ['Tea Cup', 'kitchen'],
];

/**
 * Returns the data of an account before any write: 120 customers, 240 orders, 60 products.
 * The same key gives the same data in every process at any time.
 */
export function seedAccount(apiKey: string): Seeded {
  const random = generator(apiKey);
  const products = Array.from({ length: SEEDED.products }, (_, index) => seedProduct(random, index));
  const customers = Array.from({ length: SEEDED.customers }, (_, index) => seedCustomer(random, index));
  const orders = Array.from({ length: SEEDED.orders }, (_, index) =>
    seedOrder(random, index, { products, customers }),
  );
  return { customers, orders, products };
}

/** Returns the price of a product in minor units of a currency. */
export function priceIn(product: Product, currency: Currency): number {
  return Math.round(product.price * RATES[currency]);
}

export function totalOf(lines: OrderLine[]): number {
  return lines.reduce((sum, line) => sum + line.quantity * line.unit_price, 0);
}

type Random = (below: number) => number;

/** Returns Mulberry32 (public domain, Tommy Ettinger). Its 32 bits of state are enough for names and prices. */
function generator(seed: string): Random {
  let state = createHash('sha256').update(seed).digest().readUInt32LE(0);
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

function seedProduct(random: Random, index: number): Product {
  const [thing, category] = THINGS[index % THINGS.length] ?? ['Thing', 'other'];
  const material = MATERIALS[Math.floor(index / THINGS.length)] ?? 'Plain';
  return {
    id: `prd_${101 + index}`,
    sku: `${material.slice(0, 3)}-${thing.replaceAll(' ', '').slice(0, 4)}-${101 + index}`.toUpperCase(),
    title: `${material} ${thing}`,
    category,
    price: 500 + random(1900) * 10 + 99,
    stock: random(200),
    active: random(10) !== 0,
    ...seedTimes(random, index / SEEDED.products),
  };
}

function seedCustomer(random: Random, index: number): Customer {
  const given = pick(random, GIVEN);
  const family = pick(random, FAMILY);
  const plain = (text: string) =>
    text
      .normalize('NFD')
      .replaceAll(/[^a-zA-Z]/g, '')
      .toLowerCase();
  const company = random(3) === 0 ? `${pick(random, COMPANIES)} Trading` : null;
  return {
    id: `cus_${1001 + index}`,
    name: `${given} ${family}`,
    // Mail to this domain is not delivered (RFC 2606 section 3). The number distinguishes equal names.
    email: `${plain(given)}.${plain(family)}.${1001 + index}@example.com`,
    phone: random(4) === 0 ? null : `+1555${String(random(10_000_000)).padStart(7, '0')}`,
    company,
    country: pick(random, COUNTRIES),
    segment: pick(random, SEGMENTS),
    ...seedTimes(random, index / SEEDED.customers),
  };
}

function seedOrder(
  random: Random,
  index: number,
  { products, customers }: Pick<Seeded, 'products' | 'customers'>,
): Order {
  const currency = pick(random, CURRENCIES);
  const lines = Array.from({ length: 1 + random(3) }, () => {
    const product = pick(random, products);
    const quantity = 1 + random(4);
    return { product_id: product.id, title: product.title, quantity, unit_price: priceIn(product, currency) };
  });
  return {
    id: `ord_${5001 + index}`,
    number: 5001 + index,
    customer_id: pick(random, customers).id,
    status: pick(random, STATUSES),
    currency,
    total: totalOf(lines),
    lines,
    note: random(6) === 0 ? 'Please ring twice.' : null,
    ...seedTimes(random, index / SEEDED.orders),
  };
}

/** Returns times at this fraction (0 to 1) of the shop's first 300 days. Later ids have later times. */
function seedTimes(random: Random, part: number): { created_at: string; updated_at: string } {
  const created = FIRST_DAY + Math.floor(part * 300) * DAY + Math.floor(part * 86_399) * 1000;
  const updated = created + random(60) * DAY + random(3600) * 1000;
  return { created_at: new Date(created).toISOString(), updated_at: new Date(updated).toISOString() };
}

function pick<T>(random: Random, list: readonly T[]): T {
  const found = list[random(list.length)];
  if (found === undefined) throw new Error('There is nothing to pick from.');
  return found;
}
