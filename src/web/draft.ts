/*
 * What a user typed and chose, while the whole page is at an app: in the storage that this tab has for our own origin, where
 * the page around cannot read it. One at a time, taken out once.
 */

const KEY = 'gatehouse.draft';

export interface Draft {
  /** The app that the page went to. */
  connectorId: string;
  /** Values of the form by field. */
  typed: Record<string, string>;
  /** connectorId → credentialId */
  chosen: Record<string, string>;
}

/** Whether a draft would be there at the return; browsers can forbid it to a page that is framed. */
export function canKeep(): boolean {
  try {
    sessionStorage.setItem(KEY, '{}');
    sessionStorage.removeItem(KEY);
    return true;
  } catch {
    return false;
  }
}

/** Keeps a draft for who comes back with this state. */
export function keepDraft(state: string, draft: Draft): void {
  sessionStorage.setItem(KEY, JSON.stringify({ state, draft }));
}

/** Takes out what was kept. @returns undefined where that is of another state, or nothing. */
export function takeDraft(state: string | undefined): Draft | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? '{}');
    sessionStorage.removeItem(KEY);
    return kept.state === state ? kept.draft : undefined;
  } catch {
    return undefined;
  }
}
