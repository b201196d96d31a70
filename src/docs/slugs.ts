/** Returns the anchor of a heading as GitHub generates it. */
export function slugOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** Returns a function that gives each heading of a page its anchor. A repeated title gets a number, as on GitHub. */
export function createSlugs(): (title: string) => string {
  const used = new Map<string, number>();
  return (title) => {
    const slug = slugOf(title);
    const times = used.get(slug) ?? 0;
    used.set(slug, times + 1);
    return times === 0 ? slug : `${slug}-${times}`;
  };
}
