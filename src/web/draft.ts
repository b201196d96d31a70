/*
 * The user's typed and chosen values while the whole page is at an app. They are in this tab's storage of our own
 * origin, where the surrounding page cannot read them. There is one draft at a time, and it is read once.
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

/** Returns whether a draft can be stored; browsers can forbid it to a framed page. */
export function canKeep(): boolean {
  try {
    sessionStorage.setItem(KEY, '{}');
    sessionStorage.removeItem(KEY);
    return true;
  } catch {
    return false;
  }
}

/** Stores a draft under the state of the return. */
export function keepDraft(state: string, draft: Draft): void {
  sessionStorage.setItem(KEY, JSON.stringify({ state, draft }));
}

/**
 * Reads and removes the draft.
 * @returns undefined where it has another state, or where there is none.
 */
export function takeDraft(state: string | undefined): Draft | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? '{}');
    sessionStorage.removeItem(KEY);
    return kept.state === state ? kept.draft : undefined;
  } catch {
    return undefined;
  }
}
