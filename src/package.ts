import { fileURLToPath } from 'node:url';

/**
 * Where this package is installed. A file in src/ and a file of the build are as deep as each other, so this is the one
 * place that may go by its own address: the build moves code between files, never the files between folders.
 */
export const PACKAGE_FOLDER = new URL('..', import.meta.url);

/** The folder of the shipped connectors. */
export const CATALOG_FOLDER = fileURLToPath(new URL('data/connectors', PACKAGE_FOLDER));
