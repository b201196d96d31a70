import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { searchOf } from '../../src/docs-browser/docs-index.ts';
import { buildDocs } from '../../src/docs/site.ts';

/* The search of the documentation, over its real pages. */

const pages = buildDocs(resolve(import.meta.dirname, '../..'));
const search = searchOf(JSON.parse(pages.get('assets/search.json') ?? '[]'));

test.each([
  ['rate limit', /^(api#answers|configuration)/],
  ['how do I delete a user', /^api\/users#delete-an-end-user/],
  ['python', /^agents#your-own-agent/],
  ['langchain', /^agents#your-own-agent/],
  ['signature invalid', /^webhooks#verify/],
  ['forgot api key', /^api\/administration#rotate-a-named-api-key/],
  ['multi tenant', /^api\/users/],
  ['webhook does not arrive', /^webhooks#inspect-deliveries/],
  ['where are keys stored', /^master-key/],
])('the question "%s" finds its page first', (question, place) => {
  expect(search(question)[0]?.at).toMatch(place);
});
