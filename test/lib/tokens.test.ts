import { expect, test } from 'vitest';
import { estimateTokens } from '../../src/lib/token-estimate.ts';

/** Counts of the o200k tokenizer. */
test.each([
  ['{"name":"list_customers","description":"Lists customers."}', 13],
  ['Lists invoices, newest first. Amounts are in the smallest unit of the currency.', 17],
  [
    '{"type":"object","properties":{"limit":{"type":"integer","minimum":1,"maximum":50}},"required":["limit"],"additionalProperties":false}',
    32,
  ],
  ['createPullRequest update_product_variant 2026-03-01T12:00:00Z', 20],
  ['', 0],
])('the text %j has about as many tokens as a tokenizer counts', (text, tokens) => {
  expect(Math.abs(estimateTokens(text) - tokens)).toBeLessThanOrEqual(Math.ceil(tokens * 0.1));
});
