import { addCopyButtons, makeScrollable, makeTabs } from './code-blocks.ts';
import { followReading, openMenu } from './reading-place.ts';
import { addSearch } from './search-dialog.ts';

/* The pages of the documentation work without this script. It adds search, copy buttons, tabs and the choice of colours. */

makeScrollable();
makeTabs();
addCopyButtons();
addSearch();
openMenu();
followReading();
addThemeSwitch();

/** Switches between light and dark. The choice is stored where the console stores its own. */
function addThemeSwitch(): void {
  const button = document.querySelector<HTMLButtonElement>('.theme');
  if (!button) return;
  const root = document.documentElement;
  const isDark = () =>
    (root.dataset['theme'] ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) ===
    'dark';
  const name = () => button.setAttribute('aria-label', isDark() ? 'Use light colours' : 'Use dark colours');
  button.hidden = false;
  button.addEventListener('click', () => {
    root.dataset['theme'] = isDark() ? 'light' : 'dark';
    try {
      localStorage.setItem('mantine-color-scheme-value', root.dataset['theme']);
    } catch {
      // Without storage the choice lasts for this page.
    }
    name();
  });
  name();
}
