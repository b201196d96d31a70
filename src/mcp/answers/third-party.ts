/** Marks the words of an app in `_meta`: they are data, never instructions. */
export const THIRD_PARTY = { 'gatehouse/source': 'third_party' } as const;
