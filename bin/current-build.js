import { fileURLToPath } from 'node:url';

const pathOf = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));

/** Returns whether dist exists and, in a checkout, no source or package is newer than it. */
export function isBuildCurrent() {
  // Not by an import statement, see gatehouse.js.
  const { existsSync, readdirSync, statSync } = process.getBuiltinModule('node:fs');
  const built = pathOf('dist/main.js');
  if (!existsSync(built)) return false;
  if (!existsSync(pathOf('.git'))) return true;
  const { mtimeMs } = statSync(built);
  const isOlder = (path) => statSync(path).mtimeMs <= mtimeMs;
  const areOlder = (folder) =>
    isOlder(folder) &&
    readdirSync(folder, { withFileTypes: true }).every((entry) => {
      const path = `${folder}/${entry.name}`;
      return entry.isDirectory() ? areOlder(path) : isOlder(path);
    });
  return isOlder(pathOf('package-lock.json')) && areOlder(pathOf('src')) && areOlder(pathOf('data/words'));
}
