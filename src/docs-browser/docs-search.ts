import { searchOf, type Entry, type Search } from './docs-index.ts';

/** Loads the entries and makes the index of them. */
export async function openSearch(): Promise<Search> {
  const answer = await fetch(`${document.documentElement.dataset['assets']}search.json`);
  if (!answer.ok) throw new Error(`search.json: ${answer.status}`);
  const entries: Entry[] = await answer.json();
  return searchOf(entries);
}
