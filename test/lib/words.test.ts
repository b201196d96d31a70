import { describe, expect, test } from 'vitest';
import { isNearly, stemOf, wordsOf } from '../../src/lib/words.ts';

test.each([
  ['createPullRequest', ['create', 'pull', 'request']],
  ['list_pull-requests.v2', ['list', 'pull', 'requests', 'v2']],
  ['getHTTPStatus', ['get', 'http', 'status']],
  ['open MRs and URLs', ['open', 'mrs', 'and', 'urls']],
  ['Café, l’été; don’t', ['cafe', 'lete', 'dont']],
  ['v2Beta', ['v2', 'beta']],
  ['  ?! ', []],
])('the text %j has the words %j', (text, words) => {
  expect(wordsOf(text)).toEqual(words);
});

describe('forms of a word have one stem', () => {
  test.each([
    ['order', 'orders', 'ordered', 'ordering'],
    ['merge', 'merges', 'merged', 'merging'],
    ['company', 'companies'],
    ['cancel', 'cancelled', 'cancelling', 'cancels'],
    ['reply', 'replies', 'replied', 'replying'],
    ['branch', 'branches'],
    ['invoice', 'invoices', 'invoicing'],
  ])('forms of one word have one stem: %s', (...forms) => {
    expect(new Set(forms.map(stemOf)).size).toBe(1);
  });

  test.each([
    ['organization', 'organ'],
    ['sing', 'string'],
    ['status', 'state'],
    ['business', 'busy'],
  ])('the words %s and %s do not have one stem', (a, b) => {
    expect(stemOf(a)).not.toBe(stemOf(b));
  });
});

test.each([
  ['calender', 'calendar', true],
  ['mesage', 'message', true],
  ['messsage', 'message', true],
  ['pipelnie', 'pipeline', true],
  ['same', 'same', true],
  ['mail', 'email', true],
  ['male', 'email', false],
  ['abc', 'xyz', false],
])('the word %s is nearly %s: %s', (a, b, nearly) => {
  expect(isNearly(a, b)).toBe(nearly);
  expect(isNearly(b, a)).toBe(nearly);
});
