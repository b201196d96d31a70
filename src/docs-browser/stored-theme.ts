/*
 * Sets the colours before the page is drawn. The console stores the reader's choice under the same name, so both look
 * alike.
 */

{
  let chosen: string | null = null;
  try {
    chosen = localStorage.getItem('mantine-color-scheme-value');
  } catch {
    // The browser keeps no storage for this page, so the system decides.
  }
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset['theme'] = chosen;
  document.documentElement.classList.add('scripted');
}
